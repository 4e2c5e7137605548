"""The table of all axis-info rules: op name to transfer function.

In: an op and the facts of its operands. Out: the fact of its first result. An op that is not in the table claims nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from minitriton.analysis.axis_info import rules_arith as axis_info_rules_arith
from minitriton.analysis.axis_info import rules_choice as axis_info_rules_choice
from minitriton.analysis.axis_info import rules_division as axis_info_rules_division
from minitriton.analysis.axis_info import rules_shape as axis_info_rules_shape
from minitriton.analysis.axis_info.fact import AxisInfo

Rule = Callable[[Operation, Sequence[AxisInfo]], AxisInfo]

RULES: dict[str, Rule] = {
    **axis_info_rules_arith.RULES,
    **axis_info_rules_choice.RULES,
    **axis_info_rules_division.RULES,
    **axis_info_rules_shape.RULES,
}
