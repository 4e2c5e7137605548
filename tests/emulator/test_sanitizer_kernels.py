"""The emulator's half of the comparison with compute-sanitizer: every planted fault is found, and nothing in the sound kernels."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sanitizer_kernels import (
    ON_HARDWARE_TOO,
    SOUND,
    TOOLS,
    Sample,
    beyond_samples,
    from_examples,
    small_samples,
    verdict,
)

from minitriton import emulator


def found_in(sample: Sample) -> set[str]:
    arguments = [a.copy() if hasattr(a, "copy") else a for a in sample.arguments]
    return {f.kind for f in emulator.run(sample.ptx, None, sample.grid, arguments, sample.shared).findings}


@pytest.mark.parametrize("sample", small_samples(), ids=lambda s: f"{s.planted} {s.name}".strip())
def test_a_small_kernel_is_judged_as_planted(sample: Sample) -> None:
    found = found_in(sample)
    assert found == sample.kinds
    assert verdict(found) == ({sample.planted} if sample.planted else set())


@pytest.mark.parametrize("sample", beyond_samples(), ids=lambda s: s.name)
def test_what_no_tool_of_the_sanitizer_looks_for_is_found(sample: Sample) -> None:
    assert found_in(sample) == sample.kinds


def test_compiled_kernels_are_judged_as_planted(compiled: Callable) -> None:
    samples = from_examples(compiled)
    assert sum(1 for s in samples if s.planted) == len(ON_HARDWARE_TOO)
    for sample in samples:
        found = found_in(sample)
        assert sample.kinds <= found if sample.planted else not found, (sample.name, found)


def test_the_set_is_large_enough() -> None:
    samples = small_samples()
    assert len(samples) >= 60
    for tool in TOOLS:
        assert sum(s.planted == tool for s in samples) >= 10
        assert sum(name.startswith(tool) for name in SOUND) >= 8
    planted = sum(1 for s in samples if s.planted) + len(ON_HARDWARE_TOO)
    assert 0.4 <= planted / (len(samples) + 2 * len(ON_HARDWARE_TOO)) <= 0.6
