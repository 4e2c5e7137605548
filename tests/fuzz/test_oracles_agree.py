"""A small run of the fuzzer: the same kernels every time, all oracles, no difference. `make fuzz` runs more of others."""

import pytest

from minitriton.fuzz.running.oracles import available
from minitriton.fuzz.tiles import KIND

SEED = 2026
BATCHES, OWN_ONLY, WITH_TRITON = 15, 15, 5


def check(numbers: range, oracles: list[str]) -> None:
    for number in numbers:
        report = KIND.fuzz(SEED, number, oracles)
        assert not report.findings, f"minitriton fuzz --seed {SEED} --only {number}\n{report.findings[0].text}"
        assert report.compared == report.agreeing or report.known


@pytest.mark.sampled(6)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_levels_of_minitriton_agree(batch: int) -> None:
    check(range(batch * OWN_ONLY, (batch + 1) * OWN_ONLY), ["interpreter", "ttgir", "emulator"])


@pytest.mark.sampled(3)
@pytest.mark.oracle
@pytest.mark.parametrize("batch", range(BATCHES))
def test_triton_agrees(batch: int) -> None:
    if not available("triton"):
        pytest.skip("needs Triton's wheel")
    first = BATCHES * OWN_ONLY + batch * WITH_TRITON
    check(range(first, first + WITH_TRITON), ["interpreter", "ttgir", "emulator", "triton"])
