"""The parity suite: the example kernels and, family by family, the kernels of this folder. Each is run under both
compilers, on every level and with the stages of the two swapped."""

from __future__ import annotations

from pathlib import Path

from cases import CASES, Case, load_kernels

FAMILIES = sorted((Path(__file__).parent / "kernels").glob("*.py"))

PARITY_CASES: list[Case] = [
    case for family in FAMILIES for case in load_kernels(str(family.with_suffix("")), "minitriton").CASES
]

ALL_CASES: list[Case] = [*CASES, *PARITY_CASES]
