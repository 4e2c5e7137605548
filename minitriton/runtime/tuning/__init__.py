"""Tile sizes from facts: what a kernel's constants are for, which values fit the GPU, how long each takes."""

from minitriton.runtime.tuning.ranking import Candidate, Ranking, candidates

__all__ = ["Candidate", "Ranking", "candidates"]
