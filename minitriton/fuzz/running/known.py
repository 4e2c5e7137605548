"""Differences from Triton that docs/differences-from-triton.md lists: recognised by their cause, counted by name.

A finding about Triton alone is known if it is gone in a kernel that only lacks the cause:

    tl.argmin(x, 0)  →  tl.argmin(x + zero, 0)        zero is a parameter: Triton cannot reorder the reshape that makes x

Two causes are layouts that no change of the source is sure to avoid: they are read off Triton's own TTGIR. What is
gone without Triton's LLVM optimiser is its fault. Where one of Triton's passes fails on what its front end took, there is nothing to
compare.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from minitriton.codegen.types import bit_width
from minitriton.dialects import tt, ttg
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt.types import element_type, shape_of
from minitriton.fuzz.generation.elements import INT32
from minitriton.fuzz.running.agreement import FuzzFinding, case_of, run_case
from minitriton.fuzz.running.launch import FuzzedLaunch
from minitriton.fuzz.running.oracles import triton_ttgir
from minitriton.fuzz.tree import (
    Apply,
    Assign,
    Atomic,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Name,
    Scalar,
    Stmt,
    While,
    rewritten,
    statements,
)
from minitriton.fuzz.validity.facts import Unsound
from minitriton.layouts.encodings import Blocked, Linear, PaddedShared
from minitriton.layouts.to_linear import to_linear_layout

ZERO = "known_zero"


@dataclass(frozen=True)
class KnownDifference:
    """A row of the document, and the kernel without its cause. `signature` begins all findings that the cause may lead to, `text` is in them."""

    name: str
    without: Callable[[Kernel], Kernel]
    signature: tuple[str, ...] = ("triton |", "triton:")
    text: str = ""

    def may_explain(self, finding: FuzzFinding) -> bool:
        """Whether the cause may lead to such a finding."""
        return finding.signature.startswith(self.signature) and self.text in finding.text


def _hidden(kernel: Kernel, is_hidden: Callable[[Apply], bool], *, operand: bool = False) -> Kernel:
    """`kernel` with a zero, which only the launch knows, added to each chosen operation's result, or first operand."""

    def change(e: Expr) -> Expr:
        if not isinstance(e, Apply) or not is_hidden(e):
            return e
        if operand:
            return replace(e, args=(Apply("opaque", (e.args[0], Name(ZERO))), *e.args[1:]))
        return Apply("opaque", (e, Name(ZERO)))

    return _with_zero(kernel, replace(rewritten(kernel, change), helpers=kernel.helpers))


def _with_zero(kernel: Kernel, changed: Kernel) -> Kernel:
    """`changed` with the zero among its parameters, if it is another kernel."""
    if changed == kernel or any(s.name == ZERO for s in kernel.scalars):
        return changed
    return replace(changed, scalars=(*kernel.scalars, Scalar(ZERO, INT32, 0)))


def _without_indexed_reshapes(kernel: Kernel) -> Kernel:
    return _hidden(kernel, lambda e: e.op in ("argmax", "argmin"), operand=True)


def _without_accumulated_reductions(kernel: Kernel) -> Kernel:
    return _hidden(kernel, lambda e: e.op.startswith(("reduce_", "own_reduce_")))


def _without_constant_others(kernel: Kernel) -> Kernel:
    """Loads that are masked get their `other` from a number that only the launch knows."""
    elements = {array.name: array.element for array in kernel.arrays}
    for statement in statements(kernel.body):
        if isinstance(statement, Assign):
            base = _base(statement.value)
            if base in elements:
                elements.setdefault(statement.name, elements[base])

    def change(e: Expr) -> Expr:
        if not isinstance(e, Apply) or e.op != "load" or len(e.args) < 3:
            return e
        other, element = e.args[2], elements.get(_base(e.args[0]))
        if element is None or not element.is_int:
            return e
        if isinstance(other, Literal):
            other = Apply("full_int", (), ((), other.value, element.name))
        return replace(e, args=(*e.args[:2], Apply("opaque", (other, Name(ZERO)))))

    return _with_zero(kernel, replace(rewritten(kernel, change), helpers=kernel.helpers))


def _base(pointer: Expr) -> str:
    """The name that a pointer is computed from, perhaps in several steps."""
    while isinstance(pointer, Apply) and pointer.op == "addptr":
        pointer = pointer.args[0]
    return pointer.name if isinstance(pointer, Name) else ""


def _without_fusion(kernel: Kernel) -> Kernel:
    return replace(kernel, fp_fusion=False)


def _without_nans(kernel: Kernel) -> Kernel:
    """Arrays without infinities and NaNs: an addition keeps the bits of one NaN, and AMD has many."""
    arrays = [replace(array, fill="small") if array.fill == "special" else array for array in kernel.arrays]
    return replace(kernel, arrays=tuple(arrays))


def _with_statements(kernel: Kernel, change: Callable[[Stmt, int], Stmt]) -> Kernel:
    """`kernel` with `change` applied to every statement of its body, innermost first, given the number of loops around it."""

    def block(body: tuple[Stmt, ...], loops: int) -> tuple[Stmt, ...]:
        return tuple(change(inside(statement, loops), loops) for statement in body)

    def inside(statement: Stmt, loops: int) -> Stmt:
        if isinstance(statement, For | While):
            return replace(statement, body=block(statement.body, loops + 1))
        if isinstance(statement, If):
            return replace(statement, then=block(statement.then, loops), otherwise=block(statement.otherwise, loops))
        return statement

    return replace(kernel, body=block(kernel.body, 0))


def _without_while(kernel: Kernel) -> Kernel:
    """`for` in place of `while`."""

    def counted(s: Stmt, loops: int) -> Stmt:
        return For(s.variable, s.start, s.stop, s.step, s.body) if isinstance(s, While) else s

    return _with_statements(kernel, counted)


def _without_extremes(kernel: Kernel) -> Kernel:
    """An atomic minimum or maximum of integers is an `or`."""

    def change(s: Stmt, loops: int) -> Stmt:
        return replace(s, op="or") if isinstance(s, Atomic) and s.op in ("max", "min") else s

    return _with_statements(kernel, change)


def _without_bounds_in_loops(kernel: Kernel) -> Kernel:
    """A loop within a loop runs twice, whatever it asked for."""

    def change(s: Stmt, loops: int) -> Stmt:
        if not loops or not isinstance(s, For | While) or all(isinstance(each, Literal) for each in (s.start, s.stop)):
            return s
        return replace(s, start=Literal(0), stop=Literal(2 * s.step))

    return _with_statements(kernel, change)


KNOWN = (
    KnownDifference("a reshape to one dimension before argmax or argmin", _without_indexed_reshapes),
    KnownDifference("pointers carried by a while loop that never runs", _without_while),
    KnownDifference("a reduction accumulated in a loop", _without_accumulated_reductions),
    KnownDifference("a negative constant `other` of 8 or 16 bits", _without_constant_others, ("triton |",)),
    KnownDifference("what a loop carries only for the bounds of a loop in it", _without_bounds_in_loops, ("triton |",)),
    KnownDifference(
        "an atomic minimum of signed integers, combined within a wave (AMD)", _without_extremes, ("triton |",)
    ),
    KnownDifference("lanes that fuse one product each", _without_fusion, ("triton: shared-race",)),
    KnownDifference(
        "NaNs that lanes add in either order (AMD)",
        _without_nans,
        ("triton: shared-race", "emulator: shared-race"),
        "write different values",
    ),
)

RESHAPED_LAYOUT = "a reduction over the layout that a reshape leaves"
SCAN_OVER_REPEATS = "a scan of elements that several lanes hold"
SCAN_OF_ONE_LANE = "a scan along an axis that one lane holds in several blocks"
SCAN_BY_ALL_THREADS = "a scan along the slowest axis that has all threads, of several elements each"
PADDED_VECTORS = "padding of shared memory that is no multiple of a vector"
BYTES_BETWEEN_LANES = "8-bit elements that lanes exchange"
WRONGLY_OPTIMISED = "an optimisation of Triton's LLVM"
_WITHOUT_OPTIMISER = "DISABLE_LLVM_OPT"
FAILED_PASS = "a pass of Triton's fails"
PASS_FAILED = "triton: Triton's compiler: RuntimeError: PassManager::run failed"


def known_difference(kernel: Kernel, finding: FuzzFinding, oracles: Sequence[str]) -> str | None:
    """The name of the known difference that explains `finding`; None for a new one."""
    possible = [known for known in KNOWN if known.may_explain(finding)]
    for known in possible:
        if _agrees(known.without(kernel), kernel, oracles):
            return known.name
    without_all = kernel
    for known in possible:
        without_all = known.without(without_all)
    if _agrees(without_all, kernel, oracles):
        return "several of these at once"
    if finding.signature.startswith(PASS_FAILED):
        return FAILED_PASS
    if not possible or not finding.signature.startswith("triton") or "triton" not in oracles:
        return None
    with _unoptimised():
        if not run_case(kernel, oracles).verdict.findings:
            return WRONGLY_OPTIMISED
    return known_layout(case_of(kernel))


@contextlib.contextmanager
def _unoptimised() -> Generator[None]:
    """Triton's compiler leaves LLVM's optimiser out meanwhile."""
    before = os.environ.get(_WITHOUT_OPTIMISER)
    os.environ[_WITHOUT_OPTIMISER] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_WITHOUT_OPTIMISER]
        else:
            os.environ[_WITHOUT_OPTIMISER] = before


def known_layout(launch: FuzzedLaunch) -> str | None:
    """The known difference by a layout in Triton's TTGIR."""
    try:
        ttgir = triton_ttgir(launch)
    except RuntimeError:  # Triton's compiler failed: no layout is to blame
        return None
    ops = list(parse_module(ttgir).walk())
    if any(_reduces_reshaped_layout(op) for op in ops if isinstance(op, tt.ReduceOp)):
        return RESHAPED_LAYOUT
    if any(map(_exchanges_bytes, ops)):
        return BYTES_BETWEEN_LANES
    scans = [op for op in ops if isinstance(op, tt.ScanOp)]
    if any(map(_scans_over_repeats, scans)):
        return SCAN_OVER_REPEATS
    if any(map(_scans_blocks_of_one_lane, scans)):
        return SCAN_OF_ONE_LANE
    if any(map(_scans_by_all_threads, scans)):
        return SCAN_BY_ALL_THREADS
    buffers = (
        ttg.layout_of(value.type) for op in ops for value in op.results if isinstance(value.type, ttg.MemDescType)
    )
    return PADDED_VECTORS if any(isinstance(each, PaddedShared) for each in buffers) else None


def _exchanges_bytes(op: Operation) -> bool:
    """Whether lanes exchange four packed elements at a time: the selectors of the bytes that a lane keeps are those of another step."""
    return isinstance(op, ttg.ConvertLayoutOp) and bit_width(element_type(op.results[0].type)) == 8


def _reduces_reshaped_layout(op: tt.ReduceOp) -> bool:
    """Whether the operand is in an order that no blocked layout has.

    The lowering shuffles over as many lanes as hold the axis, from the first of them on, whatever lies between.
    """
    return isinstance(ttg.layout_of(op.srcs[0].type), Linear)


def _scans_over_repeats(op: tt.ScanOp) -> bool:
    """Whether bits of the lane that tell no elements apart disturb the scan.

    The lowering counts only lanes with elements of their own: where such bits stand below one that tells elements of the axis apart, it shuffles
    from a lane too near; the number of a lane along the slowest axis runs on over the repetitions.
    """
    layout, shape, axis = ttg.layout_of(op.srcs[0].type), shape_of(op.srcs[0].type), op.axis.value.data
    if not isinstance(layout, Blocked):
        return False
    lanes = to_linear_layout(layout, shape).bases["lane"]
    along = [bit for bit, basis in enumerate(lanes) if basis[axis]]
    repeats = [bit for bit, basis in enumerate(lanes) if not any(basis)]
    return any(bit < max(along, default=0) for bit in repeats) or (bool(repeats) and axis == layout.order[-1])


def _scans_blocks_of_one_lane(op: tt.ScanOp) -> bool:
    """Whether one lane holds the axis, in several blocks: the lowering shuffles from block to block all the same."""
    axis, layout = op.axis.value.data, ttg.layout_of(op.srcs[0].type)
    shape = shape_of(op.srcs[0].type)
    if not isinstance(layout, Blocked) or layout.size_per_thread[axis] >= shape[axis]:
        return False
    return not any(basis[axis] for basis in to_linear_layout(layout, shape).bases["lane"])


def _scans_by_all_threads(op: tt.ScanOp) -> bool:
    """Whether all threads are along the slowest axis, with several elements each: the lowering takes neighbours along another axis."""
    axis, layout, shape = op.axis.value.data, ttg.layout_of(op.srcs[0].type), shape_of(op.srcs[0].type)
    if not isinstance(layout, Blocked) or axis != layout.order[-1] or layout.size_per_thread[axis] == 1:
        return False
    sizes = zip(layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta, strict=True)
    others = [each for dim, each in enumerate(sizes) if dim != axis]
    return all(each == (1, 1, 1) for each in others) and any(shape[dim] > 1 for dim in range(len(shape)) if dim != axis)


def _agrees(variant: Kernel, kernel: Kernel, oracles: Sequence[str]) -> bool:
    """Whether `variant` is another kernel than `kernel`, and one on which all oracles agree."""
    if variant == kernel:
        return False
    try:
        return not run_case(variant, oracles).verdict.findings
    except Unsound:
        return False
