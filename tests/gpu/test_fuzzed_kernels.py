"""Fuzzed kernels on the GPU give what the interpreter and the emulator give."""

import pytest

pytest.importorskip("torch")

from minitriton.fuzz.running.campaign import fuzz_one


@pytest.mark.parametrize("batch", range(10))
def test_the_gpu_agrees(batch: int) -> None:
    for number in range(batch * 10, batch * 10 + 10):
        report = fuzz_one(11, number, ["interpreter", "emulator", "gpu"])
        assert not report.findings, f"minitriton fuzz --seed 11 --only {number}\n{report.findings[0].text}"
