"""The parity suite: the example kernels and the corpus. Each is run under both compilers, on every level and with the stages of
the two swapped."""

from __future__ import annotations

from pathlib import Path

from minitriton.lab import corpus
from minitriton_kernels.cases import CASES, Case

PARITY_CASES: list[Case] = [case for case in corpus.cases() if Path(case.file).name != "hopper"]
"""Without the slow kernels of `hopper`: `tests/dots` has such kernels at every level."""

ALL_CASES: list[Case] = [*CASES, *PARITY_CASES]
