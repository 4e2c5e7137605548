"""The table of all axis-info rules: op name to transfer function.

In: an op and the facts of its operands. Out: the fact of its first result. An op that is not in the table claims nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from minitriton.analysis import (
    axis_info_rules_arith,
    axis_info_rules_choice,
    axis_info_rules_division,
    axis_info_rules_shape,
)
from minitriton.analysis.axis_fact import AxisInfo

Rule = Callable[[Operation, Sequence[AxisInfo]], AxisInfo]

RULES: dict[str, Rule] = {
    **axis_info_rules_arith.RULES,
    **axis_info_rules_choice.RULES,
    **axis_info_rules_division.RULES,
    **axis_info_rules_shape.RULES,
}
