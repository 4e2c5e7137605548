"""Canonicalisation of structured control flow, for passes that need it without the rest.

`SCF_PATTERNS.subset(scf.ForOp)` is what cleans up loops alone.
"""

from __future__ import annotations

from minitriton.rewriting import scf_for, scf_if, scf_while
from minitriton.rewriting.patterns import PatternSet

SCF_PATTERNS = PatternSet(scf_for.patterns, scf_if.patterns, scf_while.patterns)
