"""Why a fact is what it is: from a value back to the lines of the kernel that decide it.

In: an analysis, a value. Out: `explain` gives the tree of facts that a fact was made from; `why` gives the one path that
limits one claim, down to the op that ends it.

    why(analysis, pointer, "contiguity", 0)

    tt.addptr at k.py:7:16: contiguity 1, because of operand 1
    arith.addi at k.py:6:20: contiguity 1, because of operand 1
    tt.load at k.py:5:20: contiguity 1
      A load: equal addresses give equal values, where the mask does not change; nothing else is known of memory.

An operand limits a claim if the op's rule would claim more of it, had all that one could wish for been known of the operand. Of
several, an argument of the kernel is named first: what a launch can change.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from minitriton.analysis.axis_info.lattice import HINTS, MAX_DIVISOR, RULES, AxisInfo, anything, axis_lengths, constant
from minitriton.dialects import tt
from minitriton.dialects.locations import source_location
from minitriton.errors import SourceLocation

Claim = Literal["contiguity", "divisibility", "constancy"]
CLAIMS: tuple[Claim, ...] = ("contiguity", "divisibility", "constancy")


class ExplainedAnalysis(Protocol):
    """What explaining needs of an analysis."""

    sources: dict[SSAValue, tuple[SSAValue, ...]]

    def get(self, value: SSAValue) -> AxisInfo: ...


class Explanation(NamedTuple):
    """One fact, the rule that made it, and the facts it was made from (empty where they stand elsewhere in the tree)."""

    value: SSAValue
    fact: AxisInfo
    origin: str
    rule: str
    location: SourceLocation | None
    causes: tuple[Explanation, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        at = f" at {self.location}" if self.location else ""
        lines = [f"{indent}{self.origin}{at}: {self.fact}", f"{indent}  {self.rule}"]
        for cause in self.causes:
            lines.extend(cause._lines(indent + "    "))
        return lines


class Step(NamedTuple):
    """One value on the path that limits a claim; `operand` is the input that limits it, None where the path ends."""

    value: SSAValue
    fact: AxisInfo
    origin: str
    rule: str
    location: SourceLocation | None
    claim: Claim
    dim: int
    operand: int | None

    def __str__(self) -> str:
        at = f" at {self.location}" if self.location else ""
        head = f"{self.origin}{at}: {self.claim} {getattr(self.fact, self.claim)[self.dim]}"
        return f"{head}\n  {self.rule}" if self.operand is None else f"{head}, because of operand {self.operand}"


def explain(analysis: ExplainedAnalysis, value: SSAValue) -> Explanation:
    """The tree of facts after the fact of `value`; a fact that stands in it already is not opened again."""
    return _explain(analysis, value, set())


def _explain(analysis: ExplainedAnalysis, value: SSAValue, seen: set[SSAValue]) -> Explanation:
    inputs = () if value in seen else inputs_of(analysis, value)
    seen.add(value)
    causes = tuple(_explain(analysis, source, seen) for source in inputs)
    return Explanation(
        value, analysis.get(value), origin_of(value), rule_of(analysis, value), location_of(value), causes
    )


def why(analysis: ExplainedAnalysis, value: SSAValue, claim: Claim, dim: int = 0) -> list[Step]:
    """The path of values that limits `claim` of `value` along `dim`, from `value` to where the limit comes from."""
    path: list[Step] = []
    seen: set[SSAValue] = set()
    while value not in seen:
        seen.add(value)
        limit = limit_of(analysis, value, claim, dim, seen)
        fact = analysis.get(value)
        operand = None if limit is None else limit.operand
        path.append(
            Step(value, fact, origin_of(value), rule_of(analysis, value), location_of(value), claim, dim, operand)
        )
        if limit is None:
            break
        value, claim, dim = inputs_of(analysis, value)[limit.operand], limit.claim, limit.dim
    return path


class Limit(NamedTuple):
    """What limits a claim: which of `inputs_of`, by which claim about it, along which of its axes."""

    operand: int
    claim: Claim
    dim: int


Lifted = dict[tuple[SSAValue, int, AxisInfo], AxisInfo]
"""The fact of a value with another one of its input `int`: the same for every claim and axis."""


def limit_of(
    analysis: ExplainedAnalysis,
    value: SSAValue,
    claim: Claim,
    dim: int,
    seen: set[SSAValue],
    lifted: Lifted | None = None,
) -> Limit | None:
    """What limits `claim` of `value` along `dim`, inputs in `seen` left out; None where the limit is the op's own. `lifted` is kept
    between calls about the same facts.

    A mask `offsets < n` changes after one element (constancy 1) because of what divides `n`: the claim is another one there.
    """
    inputs = inputs_of(analysis, value)
    found = getattr(analysis.get(value), claim)[dim]
    if value in analysis.sources:
        for index, source in enumerate(inputs):
            fact = analysis.get(source)
            if source not in seen and dim < fact.rank and getattr(fact, claim)[dim] <= found:
                return Limit(index, claim, dim)
        return None
    op = value.owner
    rule = RULES.of(op) if isinstance(op, Operation) else None
    if rule is None:
        return None
    facts = [analysis.get(source) for source in inputs]
    known: Lifted = {} if lifted is None else lifted

    def would_lift(index: int, wish: AxisInfo) -> bool:
        if (value, index, wish) not in known:
            known[value, index, wish] = rule(op, [*facts[:index], wish, *facts[index + 1 :]])
        return getattr(known[value, index, wish], claim)[dim] > found

    limiting = [
        index
        for index, source in enumerate(inputs)
        if source not in seen and any(would_lift(index, wish) for wish in _wishes(source))
    ]
    if not limiting:
        return None
    chosen = next((index for index in limiting if _is_of_the_caller(inputs[index])), limiting[0])
    fact, shape = facts[chosen], axis_lengths(inputs[chosen].type)
    most: dict[Claim, AxisInfo] = {
        "contiguity": fact._replace(contiguity=shape),
        "divisibility": fact._replace(divisibility=(MAX_DIVISOR,) * fact.rank),
        "constancy": fact._replace(constancy=shape),
    }
    lifting: list[Claim] = [one for one in (claim, *CLAIMS) if would_lift(chosen, most[one])]
    return Limit(chosen, lifting[0] if lifting else claim, _dim_in_operand(value, dim, fact.rank))


def _wishes(value: SSAValue) -> tuple[AxisInfo, AxisInfo]:
    """The most that could be known of a value: that nobody may look at it, and that it is some multiple of all there is, everywhere."""
    shape = axis_lengths(value.type)
    return anything(len(shape)), constant(0, shape)._replace(constant_value=None)


def _is_of_the_caller(value: SSAValue) -> bool:
    """Whether `value` is an argument of the kernel, spread or widened: a limit that whoever launches it can lift."""
    owner = value.owner
    while isinstance(owner, Operation) and len(owner.operands) == 1:
        owner = owner.operands[0].owner
    parent = owner.parent_op() if isinstance(owner, Block) else None
    return parent is not None and isinstance(parent, tt.FuncOp)


def inputs_of(analysis: ExplainedAnalysis, value: SSAValue) -> tuple[SSAValue, ...]:
    """The values whose facts the fact of `value` was made from."""
    flowing = analysis.sources.get(value)
    if flowing is not None:
        return flowing
    op = value.owner
    return tuple(op.operands) if isinstance(op, Operation) and type(op) in RULES else ()


def _dim_in_operand(value: SSAValue, dim: int, rank: int) -> int:
    """The axis of an operand (of rank `rank`) that axis `dim` of the op's result comes from."""
    op = value.owner
    if isinstance(op, Operation):
        if isinstance(op, tt.ExpandDimsOp):
            dim -= dim > op.axis.value.data
        elif isinstance(op, tt.TransOp):
            dim = int(op.order.get_values()[dim])
    return min(dim, rank - 1)


def rule_of(analysis: ExplainedAnalysis, value: SSAValue) -> str:
    """One line on how the fact of `value` follows from its inputs."""
    op = value.owner
    if value in analysis.sources:
        return "What holds of every value that flows in here."
    if not isinstance(op, Operation):
        return "An argument: what its attributes promise."
    hinted = [name for name in HINTS if name in op.attributes]
    if hinted:
        return f"Promised by {', '.join(hinted)}."
    rule = RULES.of(op)
    return (rule.__doc__ or "").splitlines()[0] if rule else "No rule for this op: nothing is known."


def origin_of(value: SSAValue) -> str:
    """What defines `value`: an op's name, or an argument."""
    owner = value.owner
    if isinstance(owner, Operation):
        return owner.name
    parent = owner.parent_op()
    index = value.index if isinstance(value, BlockArgument) else 0
    return f"argument {index} of {parent.name if parent else 'a block'}"


def location_of(value: SSAValue) -> SourceLocation | None:
    """The location in the user's source that made `value`, if it is known."""
    owner = value.owner
    if isinstance(value, BlockArgument) and isinstance(owner, Block):
        return source_location(value.location) or _location_of_parent(owner)
    return source_location(owner.location) if isinstance(owner, Operation) else None


def _location_of_parent(block: Block) -> SourceLocation | None:
    parent = block.parent_op()
    return source_location(parent.location) if parent else None
