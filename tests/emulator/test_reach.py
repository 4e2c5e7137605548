"""What of global memory CTAs reach, beside what their requests touch."""

import numpy as np

from minitriton import emulator
from minitriton.emulator.memory.access_cost import Reach
from minitriton.lab import corpus
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import CorrectnessChecker

EVERY_OTHER_WORD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry halves(.param .u64 x, .param .u64 y)
.reqntid 32
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.b32 %r2, [%rd4];
    ld.global.b32 %r3, [%rd4+4];
    add.s32 %r4, %r2, %r3;
    add.s64 %rd5, %rd2, %rd3;
    st.global.b32 [%rd5], %r4;
    st.global.b32 [%rd5+4], %r3;
    ret;
}
"""


def test_two_loads_of_every_other_word_touch_lines_twice_and_reach_them_once() -> None:
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    report = emulator.run(EVERY_OTHER_WORD, None, (1,), [x, y], reach=True)
    loads = [t for i, t in report.traffic.items() if report.kernel.instructions[i].opcode.startswith("ld.global")]
    assert sum(t.lines for t in loads) == 4 and sum(t.sectors for t in loads) == 16
    assert report.reach is not None
    assert (report.reach.read_lines, report.reach.read_sectors) == (2, 8)
    assert (report.reach.written_lines, report.reach.written_sectors) == (2, 8)


def test_what_two_ctas_reach_counts_for_each() -> None:
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    report = emulator.run(EVERY_OTHER_WORD, None, (2,), [x, y], reach=True)
    assert report.reach is not None and report.reach.read_lines == 4


def test_a_report_says_nothing_of_what_was_not_asked() -> None:
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    assert emulator.run(EVERY_OTHER_WORD, None, (1,), [x, y]).reach is None


def test_many_accesses_are_made_distinct_on_the_way() -> None:
    reach, cta = Reach(), np.zeros(1 << 16, np.int64)
    for _ in range(6):
        reach.note(4 * np.arange(1 << 16), 4, cta, written=False)
    reach.finish()
    assert (reach.read_sectors, reach.read_lines) == (1 << 13, 1 << 11)


def test_rows_shorter_than_a_line_are_reached_in_part() -> None:
    checker = CorrectnessChecker(corpus.task("bench_transpose"))
    narrow = checker.task.variant((("N", 16),))
    record = checker.record(Configuration(narrow.pipeline(), (("N", 16),)))
    whole = checker.record(Configuration(checker.task.pipeline()))
    assert record.metrics["reached_lines"] == 2 * record.metrics["reached_sectors"] / 4
    assert whole.metrics["reached_lines"] == whole.metrics["reached_sectors"] / 4
    assert whole.metrics["written_again"] == 0
