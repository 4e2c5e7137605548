"""compute-sanitizer and the emulator say the same of the kernels of `sanitizer_kernels.py`, on a machine that has both a GPU and the tool."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "emulator")]

import sanitizer
from sanitizer_kernels import STRICTER, TOOLS, verdict

from minitriton import emulator

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(sanitizer.sanitizer() is None, reason="no compute-sanitizer on this machine"),
]


def test_every_kernel_gets_the_same_verdict_from_both() -> None:
    samples = sanitizer.all_samples()
    reports = sanitizer.run_all(samples, list(TOOLS))
    differences = []
    for sample in samples:
        kernel = next(iter(emulator.parse(sample.ptx).kernels))
        arguments = [a.copy() if hasattr(a, "copy") else a for a in sample.arguments]
        found = {f.kind for f in emulator.run(sample.ptx, None, sample.grid, arguments, sample.shared).findings}
        wanted = frozenset() if sample.name in STRICTER else verdict(found)
        if (said := sanitizer.reported(reports, kernel)) != wanted:
            differences.append(f"{sample.name}: the emulator finds {sorted(found)}, reports come from {sorted(said)}")
        if not found and any(one.codes.get(kernel) != 0 for one in reports.values()):
            differences.append(f"{sample.name}: did not run to its end")
    assert not differences, "\n".join(differences)
