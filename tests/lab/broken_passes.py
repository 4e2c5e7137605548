"""Passes that each make one mistake, at the first op where they can.

In: a name and a mutation of one op, which says whether it was possible. Out: a registered pass `broken-<name>` for pipelines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Operation

from minitriton.dialects import arith
from minitriton.dialects.arith import CmpiOp
from minitriton.pipeline.pass_registry import Pass, Property, Translation, register_pass

Mutation = Callable[[Operation], bool]


@dataclass(frozen=True)
class BrokenPass(Pass):
    """Applies `mutate` to the first op it accepts."""

    name = "broken"
    mutate = staticmethod(lambda op: False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert any(self.mutate(inner) for inner in list(op.walk())), "the mistake found no place"


def broken(mutate: Mutation) -> str:
    """Registers a pass that makes the mistake `mutate`; its name."""
    name = "broken-" + mutate.__name__.replace("_", "-")
    cls = type(mutate.__name__, (BrokenPass,), {"name": name, "mutate": staticmethod(mutate), "__doc__": name})
    register_pass(dataclass(frozen=True)(cls))
    return name


def swap(op: Operation, first: int = 0, second: int = 1) -> bool:
    op.operands = [op.operands[{first: second, second: first}.get(i, i)] for i in range(len(op.operands))]
    return True


def replace(op: Operation, name: str) -> bool:
    """Puts the op of the dialect class called `name` in place of `op`."""
    cls = getattr(arith, name)
    new = cls.create(operands=list(op.operands), result_types=[op.results[0].type], properties=dict(op.properties))
    new.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    op.results[0].replace_all_uses_with(new.results[0])
    op.detach()
    op.erase()
    return True


def named(op: Operation, name: str) -> bool:
    return op.name == name


def swap_subi(op: Operation) -> bool:
    return named(op, "arith.subi") and swap(op)


def swap_subf(op: Operation) -> bool:
    return named(op, "arith.subf") and swap(op)


def addi_to_subi(op: Operation) -> bool:
    return (
        named(op, "arith.addi") and isinstance(op.results[0].type, TensorType) and _unlike(op) and replace(op, "SubiOp")
    )


def _unlike(op: Operation) -> bool:
    """A sum of products, so that the difference stays inside the arrays."""
    return op.operands[0].owner.name == "arith.muli" and op.operands[1].owner.name == "arith.remsi"


def muli_to_addi(op: Operation) -> bool:
    return named(op, "arith.muli") and op.operands[0].owner.name == "arith.divsi" and replace(op, "AddiOp")


def mulf_to_addf(op: Operation) -> bool:
    return named(op, "arith.mulf") and replace(op, "AddfOp")


def divsi_to_divui(op: Operation) -> bool:
    return named(op, "arith.divsi") and replace(op, "DivUIOp")


def remsi_to_remui(op: Operation) -> bool:
    return named(op, "arith.remsi") and replace(op, "RemUIOp")


def shrsi_to_shrui(op: Operation) -> bool:
    return named(op, "arith.shrsi") and replace(op, "ShRUIOp")


def andi_to_ori(op: Operation) -> bool:
    return named(op, "arith.andi") and replace(op, "OrIOp")


def signed_to_unsigned_conversion(op: Operation) -> bool:
    return named(op, "arith.sitofp") and replace(op, "UIToFPOp")


def flip_predicate(op: Operation) -> bool:
    return _predicate(op, "sgt", "sge")


def signless_predicate(op: Operation) -> bool:
    return _predicate(op, "sgt", "ugt")


def mask_one_too_far(op: Operation) -> bool:
    return _predicate(op, "slt", "sle")


def _predicate(op: Operation, old: str, new: str) -> bool:
    if not isinstance(op, CmpiOp) or op.predicate_name != old:
        return False
    op.properties["predicate"] = CmpiOp.numbered(new)
    return True


def drop_load_mask(op: Operation) -> bool:
    if not named(op, "tt.load") or len(op.operands) < 2:
        return False
    return _only_operands(op, 1)


def drop_other(op: Operation) -> bool:
    if not named(op, "tt.load") or len(op.operands) < 3:
        return False
    return _only_operands(op, 2)


def drop_store_mask(op: Operation) -> bool:
    if not named(op, "tt.store") or len(op.operands) < 3:
        return False
    return _only_operands(op, 2)


def _only_operands(op: Operation, count: int) -> bool:
    op.operands = list(op.operands)[:count]
    sizes = op.properties.get("operandSegmentSizes")
    if sizes is not None:
        values = [int(v) for v in sizes.get_values()]
        kept = [v if i < count else 0 for i, v in enumerate(values)]
        op.properties["operandSegmentSizes"] = type(sizes).from_list(sizes.elt_type, kept)
    return True


def drop_store(op: Operation) -> bool:
    if not named(op, "tt.store"):
        return False
    op.detach()
    op.erase()
    return True


def shift_range(op: Operation) -> bool:
    if not named(op, "tt.make_range"):
        return False
    for end in ("start", "end"):
        old = op.properties[end]
        assert isinstance(old, IntegerAttr)
        op.properties[end] = IntegerAttr(old.value.data + 1, old.type)
    return True


def wrong_reduction_axis(op: Operation) -> bool:
    if not named(op, "tt.reduce"):
        return False
    axis = op.properties["axis"]
    assert isinstance(axis, IntegerAttr)
    op.properties["axis"] = IntegerAttr(1 - axis.value.data, axis.type)
    return True


def wrong_combiner(op: Operation) -> bool:
    parent = op.parent_op()
    return named(op, "arith.addf") and parent is not None and parent.name == "tt.reduce" and replace(op, "MaximumfOp")


def wrong_grid_axis(op: Operation) -> bool:
    if not named(op, "tt.get_program_id"):
        return False
    axis: Any = op.properties["axis"]
    op.properties["axis"] = type(axis)(type(axis.data)("y"))
    return True


def swap_select_arms(op: Operation) -> bool:
    return named(op, "arith.select") and swap(op, 1, 2)


def change_integer_constant(op: Operation) -> bool:
    return _constant(op, 7, 9)


def change_float_constant(op: Operation) -> bool:
    return _constant(op, 0.5, 0.75)


def _constant(op: Operation, old: float, new: float) -> bool:
    value = op.properties.get("value") if named(op, "arith.constant") else None
    if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat() and next(iter(value.get_values())) == old:
        op.properties["value"] = DenseIntOrFPElementsAttr.from_list(value.type, [new])
        return True
    if isinstance(value, IntegerAttr) and value.value.data == old:
        op.properties["value"] = IntegerAttr(int(new), value.type)
        return True
    if isinstance(value, FloatAttr) and value.value.data == old:
        op.properties["value"] = FloatAttr(new, value.type)
        return True
    return False


def merge_constants(op: Operation) -> bool:
    """Takes 7 for 11, as a CSE that forgets to compare values would."""
    if not named(op, "arith.constant") or not _constant(op, 11, 11):
        return False
    other = next(
        o for o in op.parent.ops if o.name == "arith.constant" and o is not op and _constant(o, 7, 7)
        and o.results[0].type == op.results[0].type
    )  # fmt: skip
    other.detach()
    op.parent.insert_op_before(other, op)
    op.results[0].replace_all_uses_with(other.results[0])
    return True


def hoist_load_over_store(op: Operation) -> bool:
    if not named(op, "tt.load"):
        return False
    store = op.prev_op
    while store is not None and not (named(store, "tt.store") and store.operands[0] is op.operands[0]):
        store = store.prev_op
    if store is None or any(o.owner is not None and not _before(o.owner, store) for o in op.operands):
        return False
    op.detach()
    store.parent.insert_op_before(op, store)
    return True


def _before(owner: Any, op: Operation) -> bool:
    return not isinstance(owner, Operation) or owner.is_before_in_block(op)


def reuse_first_load(op: Operation) -> bool:
    """Takes an earlier load through other pointers for this one."""
    if not named(op, "tt.load"):
        return False
    earlier = op.prev_op
    while earlier is not None and not (named(earlier, "tt.load") and earlier.results[0].type == op.results[0].type):
        earlier = earlier.prev_op
    if earlier is None:
        return False
    op.results[0].replace_all_uses_with(earlier.results[0])
    op.detach()
    op.erase()
    return True


def loop_one_short(op: Operation) -> bool:
    """Starts a loop at its second iteration."""
    return named(op, "scf.for") and _set_operand(op, 0, op.operands[2])


def _set_operand(op: Operation, index: int, value: Any) -> bool:
    op.operands[index] = value
    return True


def forget_carried_value(op: Operation) -> bool:
    """Yields what came in instead of what was computed."""
    if not named(op, "scf.for"):
        return False
    body = op.regions[0].block
    assert body.last_op is not None
    return _set_operand(body.last_op, 0, body.args[1])


def swap_branches(op: Operation) -> bool:
    if not named(op, "scf.if"):
        return False
    first, second = op.regions[0].block, op.regions[1].block
    op.regions[0].detach_block(first)
    op.regions[1].detach_block(second)
    op.regions[0].add_block(second)
    op.regions[1].add_block(first)
    return True


def swap_llvm_subtraction(op: Operation) -> bool:
    return named(op, "llvm.fsub") and swap(op)


def drop_barriers(op: Operation) -> bool:
    if "barrier" not in op.name:
        return False
    op.detach()
    op.erase()
    return True


def wrong_type(op: Operation) -> bool:
    """Leaves IR that does not verify: a comparison with operands of two types."""
    if not isinstance(op, CmpiOp):
        return False
    other = next(o for o in op.parent.ops if o.results and o.results[0].type != op.operands[0].type)
    return _set_operand(op, 1, other.results[0])


def raises(op: Operation) -> bool:
    raise ValueError("a pass's own mistake")


@register_pass
@dataclass(frozen=True)
class BrokenText(Translation):
    """Subtracts in PTX where the kernel adds."""

    name = "broken-ptx"
    requires = frozenset({Property.PTX})
    establishes = frozenset({Property.PTX})

    def translate(self, source: Any) -> str:
        text, count = re.subn(r"\badd(\.\w+)*\.f32", "sub.f32", str(source), count=1)
        assert count
        return text
