"""The registry of integer-range rules, one for each op: the range of its results from those of its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitriton.analysis.integer_range.fact import IntegerRange
from minitriton.dialects.op_rules import OpRules

Facts = Sequence[IntegerRange]
Rule = Callable[[Any, Facts], IntegerRange]

RULES: OpRules[Rule] = OpRules()
