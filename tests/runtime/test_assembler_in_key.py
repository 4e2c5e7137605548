"""Kernels of another ptxas are other kernels."""

from pathlib import Path

from minitriton import knobs
from minitriton.pipeline.request import environment_switches


def test_a_kernel_is_not_taken_from_the_cache_of_another_ptxas(tmp_path: Path) -> None:
    found = []
    for version in ("12.8", "13.0"):
        ptxas = tmp_path / version / "ptxas"
        ptxas.parent.mkdir()
        ptxas.write_text(version)
        with knobs.nvidia.scope():
            knobs.nvidia.ptxas_path = str(ptxas)
            found.append(environment_switches())
    ptxas.write_text("13.0, installed over the other")
    with knobs.nvidia.scope():
        knobs.nvidia.ptxas_path = str(ptxas)
        found.append(environment_switches())
    assert len(set(found)) == 3
