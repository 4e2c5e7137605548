"""A kernel tree as Python source that Triton and minitriton compile alike.

Assign("v3", Apply("add", (Name("v1"), Literal(3))))   →       v3 = (v1 + 3)
"""

from collections.abc import Iterator

from minitriton.fuzz.generation.operations import OPERATIONS
from minitriton.fuzz.generation.reduce_operations import PRELUDE
from minitriton.fuzz.tree import (
    Apply,
    Assign,
    Atomic,
    Expr,
    For,
    Helper,
    Kernel,
    Literal,
    Name,
    Return,
    Stmt,
    Store,
    Unpack,
    While,
    expressions,
    parts,
    statements,
)

KERNEL = "kernel"
"""What the printed kernel is called."""


def source_of(kernel: Kernel) -> str:
    """The functions of a kernel, the kernel itself last. `triton` and `tl` are to be imported by who runs it."""
    functions = [PRELUDE[name] for name in sorted(_preludes(kernel))]
    functions += [_helper(helper) for helper in kernel.helpers]
    parameters = [p.name for p in (*kernel.arrays, *kernel.scalars)]
    body = list(_block(kernel.body, 1)) or ["    pass"]
    functions.append("\n".join([f"@triton.jit\ndef {KERNEL}({', '.join(parameters)}):", *body]) + "\n")
    return "\n\n".join(functions)


def _preludes(kernel: Kernel) -> set[str]:
    bodies = [kernel.body, *(h.body for h in kernel.helpers)]
    every = [e for body in bodies for s in statements(body) for e in expressions(s)] + [
        h.result for h in kernel.helpers
    ]
    used = {p.op for e in every for p in parts(e) if isinstance(p, Apply)}
    return {prelude for op in used if op in OPERATIONS and (prelude := OPERATIONS[op].prelude) is not None}


def _helper(helper: Helper) -> str:
    decorator = "@triton.jit(noinline=True)" if helper.noinline else "@triton.jit"
    lines = [f"{decorator}\ndef {helper.name}({', '.join(helper.parameters)}):"]
    return "\n".join([*lines, *_block(helper.body, 1), f"    return {text(helper.result)}"]) + "\n"


def text(expression: Expr) -> str:
    """An expression as source."""
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Literal):
        return (
            f"({expression.value!r})"
            if not isinstance(expression.value, bool) and expression.value < 0
            else repr(expression.value)
        )
    operands = [text(a) for a in expression.args]
    if expression.op in ("program_id", "num_programs"):
        return f"tl.{expression.op}({expression.attrs[0]})"
    if expression.op == "addptr":
        return f"({operands[0]} + {operands[1]})"
    if expression.op == "load":
        keywords = ", ".join(f"{k}={v}" for k, v in zip(("mask", "other"), operands[1:], strict=False))
        return f"tl.load({operands[0]}{', ' if keywords else ''}{keywords})"
    if expression.op.startswith("call:"):
        return f"{expression.op.removeprefix('call:')}({', '.join(operands)})"
    return OPERATIONS[expression.op].text(operands, *expression.attrs)


def _bare(expression: Expr) -> str:
    """An expression where it stands alone, without brackets around all of it."""
    found = text(expression)
    return found[1:-1] if found.startswith("(") and _closes_at_end(found) else found


def _closes_at_end(found: str) -> bool:
    depth = 0
    for index, character in enumerate(found):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return index == len(found) - 1
    return False


def _block(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement, depth)


def _statement(statement: Stmt, depth: int) -> Iterator[str]:
    space = "    " * depth
    if isinstance(statement, Assign):
        yield f"{space}{statement.name} = {_bare(statement.value)}"
    elif isinstance(statement, Unpack):
        yield f"{space}{', '.join(statement.names)} = {_bare(statement.value)}"
    elif isinstance(statement, Store | Atomic):
        function = "tl.store" if isinstance(statement, Store) else f"tl.atomic_{statement.op}"
        mask = "" if statement.mask is None else f", mask={_bare(statement.mask)}"
        yield f"{space}{function}({_bare(statement.pointer)}, {_bare(statement.value)}{mask})"
    elif isinstance(statement, For):
        bounds = ", ".join(map(_bare, (statement.start, statement.stop)))
        yield f"{space}for {statement.variable} in {statement.kind}({bounds}, {statement.step}):"
        yield from _inner(statement.body, depth)
    elif isinstance(statement, While):
        yield f"{space}{statement.variable} = {_bare(statement.start)}"
        yield f"{space}while {statement.variable} < {text(statement.stop)}:"
        yield from _block(statement.body, depth + 1)
        yield f"{space}    {statement.variable} += {statement.step}"
    elif isinstance(statement, Return):
        yield f"{space}return"
    else:
        yield f"{space}if {_bare(statement.condition)}:"
        yield from _inner(statement.then, depth)
        if statement.otherwise:
            yield f"{space}else:"
            yield from _inner(statement.otherwise, depth)


def _inner(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    if not body:
        yield "    " * (depth + 1) + "pass"
    yield from _block(body, depth + 1)
