"""What each fast path over xDSL saves: the same work by `dialects.fast_paths` and by xDSL itself, microseconds each.

    python benchmarks/xdsl_fast_paths.py [--rounds N]

The page of `minitriton/dialects/fast_paths/__init__.py` has a table of it. Both do the work alternately; the least of the rounds counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, TensorType, i32
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
)

from minitriton.dialects import arith, locations, tt
from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.fast_paths.copying import IRSnapshot, copy_of
from minitriton.dialects.fast_paths.op_access import BlockOrder, make, operand_values, ops_in
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.text import parse_module, print_module

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
Work = Callable[[], object]


def declared(base: type[IRDLOperation]) -> type[IRDLOperation]:
    """An op of three operands, declared by a subclass of `base`."""

    class ThreeOp(base):
        name = "timed.three"
        first = operand_def()
        second = operand_def()
        third = opt_operand_def()
        result = result_def()
        irdl_options = (AttrSizedOperandSegments(as_property=True),)
        assembly_format = "$first `,` $second (`,` $third^)? attr-dict `:` type($first) `,` type($second) (`,` type($third)^)? `->` type($result)"

    return ThreeOp if base is Op else irdl_op_definition(ThreeOp)


def pairs() -> dict[str, tuple[Work, Work]]:
    """By what is done: how `fast_paths` does it, how xDSL does."""
    text = max(GOLDEN.rglob("*.ttir"), key=lambda path: path.stat().st_size).read_text()
    module = parse_module(text)
    operations = ops_in(module)
    count = len(operations)
    load = next(op for op in operations if isinstance(op, tt.LoadOp))
    add = next(op for op in operations if isinstance(op, arith.AddiOp))
    block = max((b for op in operations for r in op.regions for b in r.blocks), key=lambda b: len(list(b.ops)))
    first, last = block.first_op, block.last_op
    assert first is not None and last is not None
    order, snapshot, type_ = BlockOrder(), IRSnapshot(module), TensorType(i32, [64, 64])
    fast, slow = (_three(declared(base), load) for base in (Op, IRDLOperation))
    name = StringAttr("kernel.py")
    return {
        "define an op": (lambda: declared(Op), lambda: declared(IRDLOperation)),
        "read an optional operand (as `load.mask`)": (lambda: fast.third, lambda: slow.third),
        "read the operands of any op": (lambda: operand_values(add), lambda: tuple(add.operands)),
        "make an op": (
            lambda: make(arith.AddiOp, operand_values(add), (add.result.type,), {}, add.location),
            lambda: arith.AddiOp.create(operands=add.operands, result_types=[add.result.type], location=add.location),
        ),
        "make a location": (
            lambda: locations.file_line_col(name, 3, 7), lambda: FileLineColLoc(name, IntAttr(3), IntAttr(7)),
        ),
        "hash a tensor type": (lambda: hash(type_), lambda: hash((type_.shape, type_.element_type, type_.encoding))),
        f"list the ops of a module ({count})": (lambda: ops_in(module), lambda: list(module.walk())),
        f"copy a module ({count})": (lambda: copy_of(module), module.clone),
        f"whether a module has changed ({count})": (lambda: snapshot.matches(module), lambda: print_module(module)),
        "which of two ops comes first": (
            lambda: order.comes_before(first, last), lambda: first.is_before_in_block(last),
        ),
    }  # fmt: skip


def _three(kind: type[IRDLOperation], other: Operation) -> Any:
    """An op of class `kind` with two operands."""
    values = [other.operands[0], other.operands[0]]
    return kind.create(operands=values, result_types=[i32], properties={"operandSegmentSizes": i32_array((1, 1, 0))})


def microseconds(work: Work, budget: float = 0.02) -> float:
    """What `work` takes, of as many runs as fit into `budget` seconds."""
    runs, start = 0, time.perf_counter()
    while time.perf_counter() - start < budget:
        work()
        runs += 1
    return (time.perf_counter() - start) / runs * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'':44}{'here':>10}{'xDSL':>10}{'times':>8}")
    for what, (ours, theirs) in pairs().items():
        here, there = (
            min(times)
            for times in zip(*((microseconds(ours), microseconds(theirs)) for _ in range(rounds)), strict=True)
        )
        print(f"{what:44}{here:10.2f}{there:10.2f}{there / here:8.1f}")


if __name__ == "__main__":
    main()
