"""The registry of axis-info rules, filled by one module per family."""

from __future__ import annotations

from minitriton.analysis.axis_info import rules_arith, rules_choice, rules_division, rules_shape
from minitriton.analysis.axis_info.registry import RULES, Rule

__all__ = ["RULES", "Rule", "rules_arith", "rules_choice", "rules_division", "rules_shape"]
