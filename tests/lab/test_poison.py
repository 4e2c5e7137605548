"""What depends on lanes that a mask turns off, or on arrays that nothing has written, is found at its line, by interpreter and emulator; what does not is clean."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.lab import check_call, corpus
from minitriton.lab.execution import Launch
from minitriton.target import options_for, target_named


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr, tl.sum(x))  # wrong


@triton.jit
def histogram(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    bins = tl.load(x_ptr + at, mask=at < n).to(tl.int32)
    tl.atomic_add(out_ptr + bins, 1.0)  # wrong


@triton.jit
def fives(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr, tl.sum((x == 5.0).to(tl.float32)))  # wrong


@triton.jit
def padded(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    x = tl.load(block, boundary_check=(0,))
    tl.store(out_ptr, tl.max(x))  # wrong


@triton.jit
def branching(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    flag = tl.load(x_ptr + BLOCK, mask=n > BLOCK)
    if flag > 0:  # wrong
        tl.store(out_ptr, 1.0)


@triton.jit
def right(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    there = at < n
    x = tl.load(x_ptr + at, mask=there)
    low = tl.min(tl.where(there, x, float("inf")))
    near = tl.load(x_ptr + x.to(tl.int32), mask=there)
    if n > BLOCK:
        low += tl.load(x_ptr)
    tl.store(out_ptr + at, tl.cumsum(x) + tl.exp(near) - low, mask=there)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).integers(0, 8, 100).astype(np.float32), np.zeros(128, np.float32)


def line_marked(kernel: object) -> int:
    text, first = kernel.src, kernel.starting_line_number  # pyright: ignore[reportAttributeAccessIssue]
    return next(first + 1 + i for i, line in enumerate(text.splitlines()) if "# wrong" in line)


WRONG = [total, histogram, fives, padded, branching]


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.__name__)
def test_a_check_finds_it_at_its_line(kernel: object) -> None:
    x, out = arrays()
    report = check_call(kernel, [x, out, 100], (1,), BLOCK=128, pipeline="inline")  # pyright: ignore[reportArgumentType]
    assert not report.ok and not report.broken
    assert re.search(rf"test_poison.py:{line_marked(kernel)}:\d+: error: poison: ", report.poison[0]), report.text()
    assert f"the mask of the load at {__file__}" in report.poison[0]


def test_what_is_right_is_clean_and_a_check_may_leave_it_out() -> None:
    x, out = arrays()
    assert check_call(right, [x, out, 100], (1,), BLOCK=128, pipeline="inline").ok
    assert check_call(total, [x, out, 100], (1,), BLOCK=128, pipeline="inline", poison=False).ok


@triton.jit
def accumulate(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(out_ptr + at) + tl.load(x_ptr + at))


def test_an_array_that_nothing_has_written_is_followed_too() -> None:
    def checked(*unwritten: str):
        x, out = np.ones(64, np.float32), np.ones(64, np.float32)
        return check_call(accumulate, [x, out], (1,), BLOCK=64, pipeline="inline", unwritten=unwritten)

    assert checked().ok
    assert "what is stored depends on an array that nothing has written" in checked("out_ptr").text()
    with pytest.raises(MinitritonError, match="no array 'y'"):
        checked("y")


@pytest.mark.parametrize("interpret", [False, True], ids=["emulator", "interpreter"])
@pytest.mark.parametrize("kernel", [total, histogram, right], ids=lambda kernel: kernel.__name__)
def test_launches_fail_where_the_knob_asks_for_it(kernel: object, interpret: bool) -> None:
    x, out = arrays()
    with knobs.compilation.scope(), knobs.emulator.scope():
        knobs.compilation.instrumentation_mode, knobs.emulator.interpret = "poison", interpret
        if kernel is right:
            right[(1,)](x, out, 100, BLOCK=128)
            assert out[99] != 0 and out[100] == 0
            return
        with pytest.raises(MinitritonError, match=f"test_poison.py:{line_marked(kernel)}:.*error: poison: "):
            kernel[(1,)](x, out, 100, BLOCK=128)  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize(
    "name", ["adam_step", "lion_step", "seeded_dropout", "advancing_block_pointer", "masked_histogram"]
)
def test_kernels_of_the_corpus_are_clean(name: str) -> None:
    task, target = corpus.task(name), target_named(90)
    launch = Launch.of(task.source, task.arguments(), task.grid, target, options_for(target))
    module = task.source.make_ir(target, launch.options, triton.dialects.context.make_context())
    assert launch.poison_uses(module) == []


SUITE = """
import numpy as np
import minitriton as triton
import minitriton.language as tl

@triton.jit
def racy(out_ptr):
    tl.store(out_ptr, tl.program_id(0))

@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n)))

def test_racy():
    racy[(4,)](np.zeros(4, np.int32))

def test_total():
    total[(1,)](np.ones(100, np.float32), np.zeros(4, np.float32), 100, BLOCK=128)
"""


def test_pytest_fails_at_the_kernels_line_and_hides_what_is_between(tmp_path: Path) -> None:
    file = tmp_path / "test_suite.py"
    file.write_text(textwrap.dedent(SUITE))

    options = ["-q", "-p", "no:cacheprovider", "-p", "minitriton.lab.pytest_plugin", "--races=error", "--poison"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", *options, str(file)]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=alone).stdout
    assert "2 failed" in shown
    assert f"{file}:8:22: error: global-race" in shown and f"{file}:13:22: error: poison" in shown
    assert "emulation.py:" not in shown and ">       racy[(4,)]" in shown


def test_a_race_between_programs_is_a_warning_that_names_the_launch_or_an_error() -> None:
    out = np.zeros(4, np.int32)
    with pytest.warns(
        RuntimeWarning, match=r"in the launch of racy over 4x1x1 programs at .*test_poison.py:\d+"
    ) as caught:
        racy[(4,)](out)
    assert caught[0].filename == __file__
    assert check_call(racy, [out], (4,)).ok
    assert not check_call(racy, [out], (4,), races="error").ok
    with knobs.emulator.scope():
        knobs.emulator.races = "error"
        with pytest.raises(MinitritonError, match="error: global-race"):
            racy[(4,)](out)
        knobs.emulator.races = "never"
        with pytest.raises(MinitritonError, match="MINITRITON_RACES is 'never'"):
            racy[(4,)](out)


@triton.jit
def racy(out_ptr):
    tl.store(out_ptr, tl.program_id(0))
