"""Differences from Triton that docs/differences-from-triton.md lists: recognised by their cause, counted by name.

A finding about Triton alone is known if it is gone in a kernel that only lacks the cause:

    tl.argmin(x, 0)  →  tl.argmin(x + zero, 0)        zero is a parameter: Triton cannot reorder the reshape that makes x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from minitriton.fuzz.agreement import Finding
from minitriton.fuzz.case import run_case
from minitriton.fuzz.elements import INT32
from minitriton.fuzz.facts import Unsound
from minitriton.fuzz.tree import Apply, Expr, For, If, Kernel, Name, Scalar, Stmt, While, rewritten

ZERO = "known_zero"


@dataclass(frozen=True)
class KnownDifference:
    """A row of the document, and the kernel without its cause."""

    name: str
    without: Callable[[Kernel], Kernel]


def _hidden(kernel: Kernel, is_hidden: Callable[[Apply], bool], *, operand: bool = False) -> Kernel:
    """`kernel` with a zero, which only the launch knows, added to each chosen operation's result, or first operand."""

    def change(e: Expr) -> Expr:
        if not isinstance(e, Apply) or not is_hidden(e):
            return e
        if operand:
            return replace(e, args=(Apply("opaque", (e.args[0], Name(ZERO))), *e.args[1:]))
        return Apply("opaque", (e, Name(ZERO)))

    changed = replace(rewritten(kernel, change), helpers=kernel.helpers)
    if changed == kernel or any(s.name == ZERO for s in kernel.scalars):
        return changed
    return replace(changed, scalars=(*kernel.scalars, Scalar(ZERO, INT32, 0)))


def _without_indexed_reshapes(kernel: Kernel) -> Kernel:
    return _hidden(kernel, lambda e: e.op in ("argmax", "argmin"), operand=True)


def _without_accumulated_reductions(kernel: Kernel) -> Kernel:
    return _hidden(kernel, lambda e: e.op.startswith(("reduce_", "own_reduce_")))


def _without_while(kernel: Kernel) -> Kernel:
    return replace(kernel, body=_counted(kernel.body))


def _counted(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements with `for` in place of `while`."""
    found: list[Stmt] = []
    for statement in body:
        if isinstance(statement, While):
            inner = _counted(statement.body)
            statement = For(statement.variable, statement.start, statement.stop, statement.step, inner)
        elif isinstance(statement, For):
            statement = replace(statement, body=_counted(statement.body))
        elif isinstance(statement, If):
            then, otherwise = _counted(statement.then), _counted(statement.otherwise)
            statement = replace(statement, then=then, otherwise=otherwise)
        found.append(statement)
    return tuple(found)


KNOWN = (
    KnownDifference("a reshape to one dimension before argmax or argmin", _without_indexed_reshapes),
    KnownDifference("pointers carried by a while loop that never runs", _without_while),
    KnownDifference("a reduction accumulated in a loop", _without_accumulated_reductions),
)


def known_difference(kernel: Kernel, finding: Finding, oracles: Sequence[str]) -> str | None:
    """The name of the known difference that explains `finding`; None for a new one."""
    if not finding.signature.startswith(("triton |", "triton:")):
        return None
    for known in KNOWN:
        if _agrees(known.without(kernel), kernel, oracles):
            return known.name
    without_all = kernel
    for known in KNOWN:
        without_all = known.without(without_all)
    return "several of these at once" if _agrees(without_all, kernel, oracles) else None


def _agrees(variant: Kernel, kernel: Kernel, oracles: Sequence[str]) -> bool:
    """Whether `variant` is another kernel than `kernel`, and one on which all oracles agree."""
    if variant == kernel:
        return False
    try:
        return not run_case(variant, oracles).verdict.findings
    except Unsound:
        return False
