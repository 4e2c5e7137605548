"""The registry of axis-info rules, one for each op: how the fact of its first result follows from those of its operands.

    @RULES.add(tt.MakeRangeOp)
    def make_range(op: tt.MakeRangeOp, facts: Facts) -> AxisInfo: ...

An op without a rule claims nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitriton.analysis.axis_info.fact import AxisInfo
from minitriton.dialects.op_rules import OpRules

Facts = Sequence[AxisInfo]
Rule = Callable[[Any, Facts], AxisInfo]

RULES: OpRules[Rule] = OpRules()
