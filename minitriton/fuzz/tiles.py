"""Kernels of expressions over tiles: how one is made, run and made smaller.

A smaller kernel lacks statements, has an operand or a number in place of an expression, a smaller tile, no mask, or fewer programs or warps; the analysis
refuses what is no kernel any more before anything runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from minitriton.fuzz.generation.builder import pruned
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.generation.generator import generate_analysed
from minitriton.fuzz.kinds import FuzzKind
from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running.agreement import KernelVerdict, run_case
from minitriton.fuzz.running.known import known_difference
from minitriton.fuzz.running.oracles import ORACLES, OracleOutcome
from minitriton.fuzz.tree import (
    Apply,
    Assign,
    Atomic,
    Attribute,
    Expr,
    For,
    Helper,
    If,
    Kernel,
    Literal,
    Name,
    Stmt,
    Store,
    While,
    features_of,
    rewritten,
)
from minitriton.fuzz.validity.analysis import Analysis, analyse
from minitriton.fuzz.validity.facts import Unsound


def _is_sound(kernel: Kernel) -> bool:
    try:
        analyse(kernel)
    except Unsound:
        return False
    return True


def candidates(kernel: Kernel) -> Iterator[Kernel]:
    """Smaller kernels, the boldest first."""
    if kernel.programs > 1:
        yield replace(kernel, grid=(1,))
        yield replace(kernel, grid=(2,))
    for warps in (1, 2, 4):
        if warps < kernel.num_warps:
            yield replace(kernel, num_warps=warps)
    for body in _with_fewer(kernel.body):
        yield replace(kernel, body=body)
    for size in sorted(_sizes(kernel), reverse=True):
        for less in (1, 2, size // 4, size // 2):
            if 1 <= less < size:
                yield _resized(kernel, size, less)
    for body in _simpler_block(kernel.body):
        yield replace(kernel, body=body)
    yield from _without_copies(kernel)
    yield from _without_casts(kernel)
    for index, helper in enumerate(kernel.helpers):
        for body in _with_fewer(helper.body):
            yield _with_helper(kernel, index, replace(helper, body=body))
        for body in _simpler_block(helper.body):
            yield _with_helper(kernel, index, replace(helper, body=body))
    for index, scalar in enumerate(kernel.scalars):
        yield _with_number(kernel, scalar.name, scalar.value)
        if scalar.value not in (0, 1, 2):
            yield replace(
                kernel, scalars=(*kernel.scalars[:index], replace(scalar, value=2), *kernel.scalars[index + 1 :])
            )
    for index, array in enumerate(kernel.arrays):
        changed = [replace(array, skew=0)] if array.skew else []
        changed += [replace(array, fill="small")] if array.element.is_float and array.fill != "small" else []
        for one in changed:
            yield replace(kernel, arrays=(*kernel.arrays[:index], one, *kernel.arrays[index + 1 :]))
    if not kernel.fp_fusion:
        yield replace(kernel, fp_fusion=True)


def _without_copies(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel with `b = a` left out, and `a` in place of `b`."""
    for index, statement in enumerate(kernel.body):
        if isinstance(statement, Assign) and isinstance(statement.value, Name):
            name, value = Name(statement.name), statement.value
            rest = replace(kernel, body=kernel.body[:index] + kernel.body[index + 1 :])
            yield rewritten(rest, lambda e, name=name, value=value: value if e == name else e)


def _without_casts(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel without a cast, and with an array of another type to store to."""
    for index, statement in enumerate(kernel.body):
        if not isinstance(statement, Assign) or not isinstance(statement.value, Apply):
            continue
        if statement.value.op not in ("cast", "bitcast"):
            continue
        copied = replace(statement, value=statement.value.args[0])
        body = (*kernel.body[:index], copied, *kernel.body[index + 1 :])
        for number, array in enumerate(kernel.arrays):
            if array.written:
                for element in ELEMENTS.values():
                    fill = "quarters" if element.is_float else "random"
                    other = replace(array, element=element, fill=fill, low=0, high=0)
                    arrays = (*kernel.arrays[:number], other, *kernel.arrays[number + 1 :])
                    yield replace(kernel, body=body, arrays=arrays)


def _with_helper(kernel: Kernel, index: int, helper: Helper) -> Kernel:
    return replace(kernel, helpers=(*kernel.helpers[:index], helper, *kernel.helpers[index + 1 :]))


def _with_fewer(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    """The block without a run of statements, or with a compound statement replaced by its body."""
    length = len(body) // 2
    while length >= 1:
        for start in range(len(body) - length, -1, -1):
            yield body[:start] + body[start + length :]
        length //= 2
    for index in reversed(range(len(body))):
        before, statement, after = body[:index], body[index], body[index + 1 :]
        if isinstance(statement, If):
            for one in (statement.then, statement.otherwise):
                yield before + one + after
            for one in _with_fewer(statement.then):
                yield (*before, replace(statement, then=one), *after)
            for one in _with_fewer(statement.otherwise):
                yield (*before, replace(statement, otherwise=one), *after)
        elif isinstance(statement, For | While):
            yield (*before, Assign(statement.variable, statement.start), *statement.body, *after)
            for one in _with_fewer(statement.body):
                yield (*before, replace(statement, body=one), *after)


def _simpler_block(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    for index in reversed(range(len(body))):
        for one in _simpler_statement(body[index]):
            yield (*body[:index], one, *body[index + 1 :])


def _simpler_statement(statement: Stmt) -> Iterator[Stmt]:
    if isinstance(statement, Store | Atomic) and statement.mask is not None:
        yield replace(statement, mask=None)
    if isinstance(statement, For | While):
        for field in ("start", "stop"):
            for bound in (Literal(0), Literal(1)):
                if bound != getattr(statement, field):
                    yield replace(statement, **{field: bound})
        if statement.step != 1:
            yield replace(statement, step=1)
        if isinstance(statement, For) and statement.kind != "range":
            yield replace(statement, kind="range")
    for field in fields(statement):
        value = getattr(statement, field.name)
        if field.name in ("body", "then", "otherwise"):
            simpler = _simpler_block(value)
        else:
            simpler = _simpler(value) if isinstance(value, Apply | Literal | Name) else ()
        for one in simpler:
            yield replace(statement, **{field.name: one})


def _simpler(expression: Expr) -> Iterator[Expr]:
    """An expression's operands, then the expression with a simpler operand."""
    if isinstance(expression, Literal):
        if expression.value not in (0, 1, True, False):
            yield Literal(type(expression.value)(1))
        return
    if isinstance(expression, Name):
        return
    if expression.op == "load":
        if len(expression.args) > 1:
            yield Apply("load", expression.args[:1])
    elif expression.op not in ("addptr",):
        yield from expression.args
    else:
        yield expression.args[0]
    for index, argument in enumerate(expression.args):
        for one in _simpler(argument):
            yield replace(expression, args=(*expression.args[:index], one, *expression.args[index + 1 :]))


def _with_number(kernel: Kernel, name: str, value: int | float) -> Kernel:
    """The kernel with a number in place of a parameter."""
    return rewritten(kernel, lambda e: Literal(value) if e == Name(name) else e)


_SHAPED = {"arange", "full_int", "full_float", "reshape", "broadcast_to", "histogram"}


def _sizes(kernel: Kernel) -> set[int]:
    """The sizes of dimensions that the kernel names."""
    found: set[int] = set()

    def look(e: Expr) -> Expr:
        if isinstance(e, Apply) and e.op in _SHAPED:
            found.update(
                n for a in e.attrs for n in (a if isinstance(a, tuple) else (a,)) if isinstance(n, int) and n > 1
            )
        return e

    rewritten(kernel, look)
    return found


def _resized(kernel: Kernel, size: int, less: int) -> Kernel:
    """The kernel with every dimension of `size` made `less`."""

    def one(attribute: Attribute) -> Attribute:
        if isinstance(attribute, tuple):
            return tuple(less if n == size and not isinstance(n, bool) else n for n in attribute)
        return less if attribute == size and not isinstance(attribute, bool) else attribute

    def change(e: Expr) -> Expr:
        if not isinstance(e, Apply) or e.op not in _SHAPED:
            return e
        if e.op.startswith("full"):
            return replace(e, attrs=(one(e.attrs[0]), *e.attrs[1:]))
        return replace(e, attrs=tuple(map(one, e.attrs)))

    return rewritten(kernel, change)


def _compared(
    kernel: Kernel, oracles: Sequence[str], analysis: Analysis | None
) -> tuple[KernelVerdict, dict[str, OracleOutcome]]:
    result = run_case(kernel, oracles, analysis)
    return result.verdict, result.outcomes


KIND = FuzzKind(
    "tiles", ORACLES, ("interpreter", "ttir", "ttgir", "emulator", "triton"), generate_analysed, _compared, source_of,
    lambda kernel: kernel.arrays,
    lambda kernel: f"grid {kernel.grid}, {kernel.num_warps} warps, fusion {'on' if kernel.fp_fusion else 'off'}",
    lambda kernel: map(pruned, candidates(kernel)), (__name__,), is_program=_is_sound, known=known_difference,
    features=lambda kernel, outcomes, oracles: features_of(kernel),
)  # fmt: skip
