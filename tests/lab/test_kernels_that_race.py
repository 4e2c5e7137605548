"""A check of a kernel that races says so, as a kernel and as PTX, and blames no pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.commands.cli import main
from minitriton.lab import check_call


@triton.jit
def histogram(x_ptr, counts_ptr, BLOCK: tl.constexpr):
    value = tl.load(x_ptr + tl.arange(0, BLOCK)) % 8
    tl.store(counts_ptr + value, tl.load(counts_ptr + value) + 1)


@triton.jit
def pairs(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets // 2, tl.load(x_ptr + offsets))


@triton.jit
def all_programs(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + tl.program_id(0))


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def arrays() -> list[np.ndarray]:
    return [np.arange(128, dtype=np.int32), np.zeros(128, np.int32)]


@pytest.mark.parametrize("kernel", [histogram, pairs], ids=lambda k: k.__name__)
def test_a_race_within_a_program_is_the_kernels_own(kernel: object) -> None:
    report = check_call(kernel, arrays(), (1,), BLOCK=128)
    assert not report.ok
    assert report.broken == []
    text = report.text()
    assert "your kernel races here" in text
    assert "test_kernels_that_race.py:" in text
    assert text.count("thread-race") == 1
    assert "no pass wrong; the kernel races" in text


def test_a_race_between_programs_fails_a_check_only_by_its_numbers() -> None:
    report = check_call(all_programs, arrays(), (2,), BLOCK=128)
    assert report.broken == []
    assert "global-race" in report.text()
    assert report.ok == (not report.numbers_of_a_race)


def test_a_sound_kernel_races_nowhere() -> None:
    report = check_call(copy, arrays(), (1,), BLOCK=128)
    assert report.ok
    assert report.races == ()
    assert "races" not in report.text()


def test_ptx_from_a_file_gets_the_verdict_of_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kernel, code in ((pairs, 1), (copy, 0)):
        path = tmp_path / f"{kernel.__name__}.ptx"
        path.write_text(kernel.warmup(*arrays(), BLOCK=128, grid=(1,)).asm["ptx"])
        assert (
            main(["check", str(path), "--signature", "*i32,*i32", "--size", "0=128", "--size", "1=128", "--grid", "1"])
            == code
        )
        said = capsys.readouterr().out
        assert ("a race, of inputs that were made up" in said) == bool(code)
        assert "broken" not in said
