"""What is known of the values of a state, and why: from the analyses that the passes ask.

In: the kept module of a state of TTIR or TTGIR. Out: a `ValueFact` a value, by the name it is shown by; each claim names the value
that limits it, so that a chain of them leads to the kernel's line that decides.

    %12 = tt.addptr: contiguity [1], limited by %10        %10 = arith.muli: contiguity [1], limited by %stride: an argument
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerType, NameLoc, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.explain import CLAIMS, Claim, Lifted, inputs_of, limit_of, origin_of, rule_of
from minitriton.analysis.integer_range.analysis import IntegerRangeAnalysis
from minitriton.dialects import tt
from minitriton.dialects.locations import user_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType
from minitriton.errors import SourceLocation
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.wire import FileLine, ValueJson

HUGE = 1 << 62
"""What is divisible by this is divisible by everything: zero."""


@dataclass(frozen=True)
class ValueFact:
    """One value. `limits` has for each claim, axis by axis, the value that limits it, by which claim
    about it and along which of its axes (None: it ends here)."""

    name: str
    type: str
    origin: str
    line: tuple[str, int] | None
    rule: str = ""
    claims: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    limits: dict[str, tuple[tuple[str, Claim, int] | None, ...]] = field(
        default_factory=dict[str, tuple[tuple[str, Claim, int] | None, ...]]
    )
    constant: int | None = None
    range: tuple[int, int] | None = None

    def known(self) -> str:
        """The claims in one line, those that say nothing left out."""
        parts = [
            f"{claim} {', '.join(_number(n) for n in numbers)}"
            for claim, numbers in self.claims.items()
            if any(n > 1 for n in numbers)
        ]
        if self.constant is not None:
            parts.append(f"always {self.constant}")
        elif self.range is not None:
            parts.append(f"from {self.range[0]} to {self.range[1]}")
        return "; ".join(parts) or "nothing is known"

    def plain(self, type_: int, line: FileLine | None) -> ValueJson:
        """As JSON can hold it, without what says nothing; the type by its row, `line` with the number of its file."""
        found = ValueJson(type=type_, origin=self.origin, line=line)
        if self.rule:
            found["rule"] = self.rule
        if self.claims:
            found["claims"], found["limits"] = (
                self.claims,
                {claim: tuple(limits) for claim, limits in self.limits.items()},
            )
        if self.constant is not None:
            found["constant"] = self.constant
        if self.range is not None:
            found["range"] = self.range
        return found


def _number(value: int) -> str:
    return "any" if value >= HUGE else str(value)


class Facts:
    """The facts of one state, each made when it is asked for."""

    def __init__(self, kept: KeptModule, grid: tuple[int, ...] | None = None) -> None:
        self.kept = kept
        self.axis = AxisInfoAnalysis(kept.module)
        self.ranges = IntegerRangeAnalysis(kept.module, grid) if grid else IntegerRangeAnalysis(kept.module)
        self.names = {value: name for name, value in kept.values.items()}
        self._known: dict[str, ValueFact] = {}
        self._lifted: Lifted = {}
        self._types: dict[Attribute, str] = {}

    def get(self, name: str) -> ValueFact:
        """The fact of the value that is shown as `%name`. Raises `KeyError` for one that there is not."""
        if name not in self._known:
            self._known[name] = self._of(name, self.kept.values[name])
        return self._known[name]

    def all(self) -> list[ValueFact]:
        """Those of every value."""
        return [self.get(name) for name in self.kept.values]

    def of_line(self, file: str, line: int) -> list[ValueFact]:
        """Those of the values that a line of the kernel makes."""
        return [fact for fact in self.all() if fact.line == (file, line)]

    def chain(self, name: str, claim: Claim, axis: int = 0) -> list[ValueFact]:
        """From the value to the one where the limit of `claim` comes from."""
        found: list[ValueFact] = []
        at: tuple[str, Claim, int] | None = (name, claim, axis)
        while at is not None and all(one.name != at[0] for one in found):
            fact = self.get(at[0])
            found.append(fact)
            limits = fact.limits.get(at[1], ())
            at = limits[min(at[2], len(limits) - 1)] if limits else None
        return found

    def _of(self, name: str, value: SSAValue) -> ValueFact:
        location = _location(value)
        line = (location.file, location.line) if location is not None else None
        origin = self._origin(value)
        type_ = self._types.get(value.type)
        if type_ is None:
            type_ = self._types[value.type] = str(value.type)
        if not _is_index(value):
            return ValueFact(name, type_, origin, line)
        fact = self.axis.get(value)
        range_ = self.ranges.get(value)
        return ValueFact(
            name, type_, origin, line, rule_of(self.axis, value),
            {claim: getattr(fact, claim) for claim in CLAIMS},
            {claim: tuple(self._limit(value, claim, axis) for axis in range(fact.rank)) for claim in CLAIMS},
            fact.constant_value, (range_.smin, range_.smax) if range_.width else None,
        )  # fmt: skip

    def _limit(self, value: SSAValue, claim: Claim, axis: int) -> tuple[str, Claim, int] | None:
        limit = limit_of(self.axis, value, claim, axis, set(), self._lifted)
        if limit is None:
            return None
        name = self.names.get(inputs_of(self.axis, value)[limit.operand])
        return None if name is None else (name, limit.claim, limit.dim)

    def _origin(self, value: SSAValue) -> str:
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            if isinstance(parent, tt.FuncOp):
                return f"argument {name_of_argument(value)}"
        return origin_of(value)


def name_of_argument(value: BlockArgument) -> str:
    """As the kernel calls it, which the argument's location tells."""
    named = value.location.desc.data if isinstance(value.location, NameLoc) else None
    return named or value.name_hint or str(value.index)


def _location(value: SSAValue) -> SourceLocation | None:
    owner = value.owner
    if isinstance(owner, Operation):
        return user_location(owner.location)
    found = user_location(cast(BlockArgument, value).location)
    parent = owner.parent_op()
    return found or (user_location(parent.location) if parent is not None else None)


def _is_index(value: SSAValue) -> bool:
    element = value.type.element_type if instance_of(value.type, TensorType) else value.type
    return isinstance(element, IntegerType | IndexType | PointerType)
