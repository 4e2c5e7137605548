"""What a kernel has in it, for the account of what the generator reaches.

"dot", "negative stride", "loop: while", "shape: 3-D", "element: uint8", ...
"""

from __future__ import annotations

from minitriton.fuzz.tree import (
    Apply,
    Assign,
    Atomic,
    For,
    If,
    Kernel,
    Literal,
    Name,
    Return,
    Stmt,
    Store,
    While,
    expressions,
    parts,
    statements,
)


def features_of(kernel: Kernel) -> tuple[str, ...]:
    """The features of a kernel, each once, in order."""
    found: set[str] = {f"warps: {kernel.num_warps}", f"grid: {'x'.join(map(str, kernel.grid))}"}
    found |= {f"element: {a.element.name}" for a in kernel.arrays}
    found |= {"skewed pointer" for a in kernel.arrays if a.skew}
    found |= {"NaN and infinity" for a in kernel.arrays if a.fill == "special"}
    for helper in kernel.helpers:
        found.add("call: noinline" if helper.noinline else "call: inlined")
    for body in (kernel.body, *(h.body for h in kernel.helpers)):
        for statement in statements(body):
            found |= _of_statement(statement)
    return tuple(sorted(found))


def _of_statement(statement: Stmt) -> set[str]:
    found: set[str] = set()
    if isinstance(statement, For):
        found.add(f"loop: {statement.kind}")
    elif isinstance(statement, While):
        found.add("loop: while")
    elif isinstance(statement, If):
        found.add("branch: at compile time" if isinstance(statement.condition, Literal) else "branch")
    elif isinstance(statement, Return):
        found.add("early return")
    elif isinstance(statement, Assign) and isinstance(statement.value, Name):
        found.add("another name for a value")
    elif isinstance(statement, Store):
        found.add("store: masked" if statement.mask is not None else "store: whole")
    elif isinstance(statement, Atomic):
        found.add(f"atomic: {statement.op}")
    if isinstance(statement, For | While) and not isinstance(statement.stop, Literal):
        found.add("loop: bound at run time")
    for expression in expressions(statement):
        for part in parts(expression):
            if isinstance(part, Apply):
                found |= _of_operation(part)
    return found


def _of_operation(part: Apply) -> set[str]:
    op = part.op
    if op.startswith("call:") or op in ("addptr", "index", "program_id", "num_programs"):
        return set()
    if op == "load":
        return {("load: whole", "load: masked, no other", "load: masked")[len(part.args) - 1]}
    if op in ("cast", "bitcast"):
        return {f"{op}: to {part.attrs[0]}"}
    if "reduce" in op or op in ("argmax", "argmin"):
        axis = "all" if part.attrs[0] is None else part.attrs[0]
        return {f"op: {op}", f"reduction: axis {axis}"}
    if (
        op == "sub"
        and isinstance(part.args[0], Literal)
        and isinstance(part.args[1], Apply)
        and part.args[1].op == "arange"
    ):
        return {"op: sub", "negative stride"}
    return {f"op: {op}"}
