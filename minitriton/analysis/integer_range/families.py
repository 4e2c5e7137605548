"""The registry of integer-range rules, filled by one module per family."""

from minitriton.analysis.integer_range import rules, rules_division, rules_tensor
from minitriton.analysis.integer_range.registry import RULES

__all__ = ["RULES", "rules", "rules_division", "rules_tensor"]
