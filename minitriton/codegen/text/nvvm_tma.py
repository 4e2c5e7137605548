"""Writes the ops of Hopper's asynchronous copies: each one instruction of inline PTX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.writer import FunctionWriter, asm, data_of, integer_of, writes
from minitriton.dialects.op_access import operand_values

TENSOR_MAP_BYTES = 128
_CONSTRAINTS = {"i1": "b", "i32": "r", "i64": "l", "ptr addrspace(3)": "r", "ptr addrspace(1)": "l", "ptr": "l"}


def _instruction(w: FunctionWriter, text: str, operands: Sequence[SSAValue]) -> None:
    """`text` with `$0`, `$1`, ... for the operands, each in the kind of register that its type asks for."""
    constraints = ",".join(_CONSTRAINTS[type_text(operand.type)] for operand in operands)
    asm(w, "void", text, constraints, [w.typed(operand) for operand in operands])


@writes("nvvm.mbarrier")
def _mbarrier(w: FunctionWriter, op: Operation) -> None:
    kind, amount = data_of(op, "kind"), integer_of(op, "amount", 1)
    text = {
        "init": f"@$1 mbarrier.init.shared::cta.b64 [$0], {amount};",
        "inval": "@$1 mbarrier.inval.shared::cta.b64 [$0];",
        "arrive": f"@$1 mbarrier.arrive.shared::cta.b64 _, [$0]{f', {amount}' if amount > 1 else ''};",
        "arrive.expect_tx": f"@$1 mbarrier.arrive.expect_tx.shared.b64 _, [$0], {amount};",
    }[kind]
    _instruction(w, text, operand_values(op))


@writes("nvvm.mbarrier.wait")
def _mbarrier_wait(w: FunctionWriter, op: Operation) -> None:
    predicated = len(operand_values(op)) > 2
    skip = "@!$2 bra.uni done;\n" if predicated else ""
    text = (
        "{\n.reg .pred complete;\n"
        f"{skip}again:\n"
        "mbarrier.try_wait.parity.shared.b64 complete, [$0], $1;\n"
        "@!complete bra.uni again;\n"
        f"{'done:' if predicated else ''}\n}}"
    )
    _instruction(w, text, operand_values(op))


@writes("nvvm.cp.async.mbarrier.arrive")
def _cp_async_mbarrier_arrive(w: FunctionWriter, op: Operation) -> None:
    noinc = ".noinc" if "noinc" in op.properties else ""
    _instruction(w, f"cp.async.mbarrier.arrive{noinc}.shared::cta.b64 [$0];", operand_values(op))


def _listed(first: int, count: int) -> str:
    return "{" + ", ".join(f"${first + i}" for i in range(count)) + "}"


@writes("nvvm.cp.async.bulk.tensor.load")
def _tensor_load(w: FunctionWriter, op: Operation) -> None:
    rank = len(operand_values(op)) - 4
    text = (
        f"@${rank + 3} cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[$0], [$1, {_listed(2, rank)}], [${rank + 2}];"
    )
    _instruction(w, text, operand_values(op))


@writes("nvvm.cp.async.bulk.tensor.store")
def _tensor_store(w: FunctionWriter, op: Operation) -> None:
    rank = len(operand_values(op)) - 3
    kind = data_of(op, "reduce")
    opcode = (
        f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{kind}"
        if kind
        else (f"cp.async.bulk.tensor.{rank}d.global.shared::cta")
    )
    _instruction(w, f"@${rank + 2} {opcode}.bulk_group [$1, {_listed(2, rank)}], [$0];", operand_values(op))


@writes("nvvm.cp.async.bulk.commit.group")
def _bulk_commit(w: FunctionWriter, op: Operation) -> None:
    _instruction(w, "cp.async.bulk.commit_group;", ())


@writes("nvvm.cp.async.bulk.wait_group.read")
def _bulk_wait(w: FunctionWriter, op: Operation) -> None:
    _instruction(w, f"cp.async.bulk.wait_group.read {integer_of(op, 'n')};", ())


_IMMEDIATE_FIELDS = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")


@writes("nvvm.tensormap.replace")
def _tensormap_replace(w: FunctionWriter, op: Operation) -> None:
    place, value, pred = operand_values(op)
    field = data_of(op, "field")
    ordinal = f"{integer_of(op, 'ordinal')}, " if "ordinal" in op.properties else ""
    width = 32 if type_text(value.type) == "i32" else 64
    opcode = f"@$1 tensormap.replace.tile.{field}.shared::cta.b1024.b{width} [$0], {ordinal}"
    if field in _IMMEDIATE_FIELDS:
        _instruction(w, f"{opcode}{w.names[value]};", (place, pred))
    else:
        _instruction(w, f"{opcode}$2;", (place, pred, value))


@writes("nvvm.tensormap.cp_fenceproxy")
def _tensormap_publish(w: FunctionWriter, op: Operation) -> None:
    text = (
        "@$2 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        f"[$0], [$1], {TENSOR_MAP_BYTES};"
    )
    _instruction(w, text, operand_values(op))


@writes("nvvm.fence.proxy.tensormap.acquire")
def _tensormap_acquire(w: FunctionWriter, op: Operation) -> None:
    """The empty group of bulk copies makes ptxas (12.8) keep the order of the fence and later copies."""
    text = (
        f"@$1 fence.proxy.tensormap::generic.acquire.gpu [$0], {TENSOR_MAP_BYTES};\n\t"
        "@$1 cp.async.bulk.commit_group;\n\t@$1 cp.async.bulk.wait_group.read 0;"
    )
    _instruction(w, text, operand_values(op))


@writes("nvvm.cluster.arrive")
def _cluster_arrive(w: FunctionWriter, op: Operation) -> None:
    relaxed = ".relaxed" if "relaxed" in op.properties else ""
    _instruction(w, f"barrier.cluster.arrive{relaxed}.aligned;", ())


@writes("nvvm.cluster.wait")
def _cluster_wait(w: FunctionWriter, op: Operation) -> None:
    _instruction(w, "barrier.cluster.wait.aligned;", ())
