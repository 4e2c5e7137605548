"""The parity suite: the example kernels and the corpus. Each is run under both compilers, on every level and with the stages of
the two swapped."""

from __future__ import annotations

from cases import CASES, Case

from minitriton.lab import corpus

PARITY_CASES: list[Case] = [*corpus.cases()]

ALL_CASES: list[Case] = [*CASES, *PARITY_CASES]
