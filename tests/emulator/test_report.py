"""What a report counts, as an object, as JSON and as a listing; and how much work emulation is."""

import json
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from counted_calls import calls_in

from minitriton import emulator

Run = Callable[..., emulator.Report]


@pytest.mark.parametrize(("stride", "sectors", "lines"), [(4, 4, 1), (8, 8, 2), (32, 32, 8), (128, 32, 32)])
def test_sectors_and_lines_count_how_well_a_load_coalesces(stride: int, sectors: int, lines: int, emulate: Run) -> None:
    body = f"mul.wide.u32 %rd1, %r100, {stride}; add.s64 %rd2, %rd100, %rd1; ld.global.b32 %r1, [%rd2];"
    report = emulate(body, np.zeros(1024, np.uint32), np.zeros(1, np.uint32))
    total = report.total("global")
    assert (total.sectors, total.lines, total.requests) == (sectors, lines, 1)


@pytest.mark.parametrize(("stride", "conflicts"), [(4, 0), (8, 1), (32, 7), (128, 31), (132, 0), (0, 0)])
def test_bank_conflicts_count_extra_passes(stride: int, conflicts: int, emulate: Run) -> None:
    body = f"mov.b32 %r1, buffer; mad.lo.s32 %r2, %r100, {stride}, %r1; st.shared.b32 [%r2], 1;"
    report = emulate(body, np.zeros(1, np.uint32), np.zeros(1, np.uint32), shared=8192)
    assert report.total("shared").conflicts == conflicts


def test_wide_shared_accesses_go_by_quarter_warps(emulate: Run) -> None:
    body = "mov.b32 %r1, buffer; mad.lo.s32 %r2, %r100, 16, %r1; st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};"
    total = emulate(body, np.zeros(1, np.uint32), np.zeros(1, np.uint32), shared=512).total("shared")
    assert (total.wavefronts, total.conflicts) == (4, 0)


def test_the_mix_counts_warps_that_issue(emulate: Run) -> None:
    body = "setp.lt.u32 %p1, %r100, 32; @%p1 bra END; mul.lo.s32 %r1, %r100, %r100; END:"
    report = emulate(body, np.zeros(1, np.uint32), np.zeros(1, np.uint32), threads=96, grid=(5,))
    assert report.mix()["bra"] == 15
    assert report.mix()["mul.lo.s32"] == 10


def test_json_has_findings_counts_and_source_lines(compiled: Callable) -> None:
    ptx, shared = compiled("softmax", "minitriton", 90)
    x = np.ones((8, 781), np.float32)
    report = emulator.run(ptx, "softmax", (8,), [np.zeros_like(x), x, 781, 781, 8, 781], shared)
    found = json.loads(json.dumps(report.to_json()))
    assert found["totals"]["global"]["bytes"] == 2 * x.nbytes
    assert found["findings"] == []
    assert any("softmax.py:" in line for line in found["source_lines"])


def test_the_listing_stands_beside_the_source_and_shows_findings(compiled: Callable) -> None:
    ptx, shared = compiled("vector_add", "minitriton", 90)
    arrays = [np.ones(4000, np.float32), np.ones(4000, np.float32), np.zeros(3000, np.float32)]
    listing = emulator.run(ptx, "vector_add", (4,), [*arrays, 4000], shared).listing()
    assert "tl.store(" in listing
    assert "^^ out-of-bounds" in listing


def test_an_instruction_takes_as_many_calls_for_eight_warps_as_for_one_and_few(emulate: Run) -> None:
    step = "mul.f32 %r1, %r2, %r3; fma.rn.f32 %r2, %r1, %r3, %r2; add.s32 %r4, %r4, %r100; xor.b32 %r5, %r4, %r1;"
    calls: dict[tuple[int, int], int] = {}
    for steps, threads in ((100, 32), (100, 256), (250, 256)):
        body = "mov.b32 %r3, 0f3F000000; cvt.rn.f32.u32 %r2, %r100;" + steps * step + "st.global.b32 [%rd91], %r5;"
        launch = partial(emulate, body, np.zeros(256, np.uint32), np.zeros(1, np.uint32), threads=threads)
        assert launch().mix()["fma.rn.f32"] == steps * threads // 32
        calls[steps, threads] = calls_in(launch)
    assert calls[100, 256] < 1.2 * calls[100, 32], calls
    assert calls[250, 256] - calls[100, 256] < 30 * 4 * 150, calls
