"""Every op of ours is in its dialect's front door, has a verifier, a lowering, a meaning and a writer; what lacks one on purpose is listed with the reason."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

import minitriton.dialects
from minitriton.codegen import convert_triton_gpu_to_llvm as _lowerings
from minitriton.codegen import llvm_text as _writers
from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.target_interface import target_info
from minitriton.codegen.text.writer import WRITERS
from minitriton.dialects.context import dialects
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.llvm import LLVM
from minitriton.dialects.nvvm import NVVM
from minitriton.dialects.tt.traits import TensorLayouts
from minitriton.interpreter import launch as meanings

KNOWN = [op for dialect in dialects() for op in dialect.operations]
COMPUTING = [op for op in KNOWN if op.name.startswith(("arith.", "math.", "tt.", "ttg.", "ttng."))]
assert _lowerings and _writers and target_info("cuda")
LOWERINGS = lowerings_of("cuda")
"""Those that serve every target, and NVIDIA's."""


def a_terminator(op: type[Operation]) -> bool:
    return op.has_trait(IsTerminator)


WITHOUT_A_LOWERING = {
    "the frontend makes none of them": {
        "arith.addui_extended", "arith.mulsi_extended", "arith.mului_extended", "math.roundeven", "math.round", "math.trunc", "math.atan2",
        "math.copysign", "math.powf", "math.ctlz", "math.cttz", "math.ctpop", "tt.breakpoint",
    },
    "a pass replaces them first": {
        "tt.descriptor_gather", "tt.descriptor_load", "tt.descriptor_reduce", "tt.descriptor_scatter", "tt.descriptor_store", "tt.make_tensor_descriptor",
        "tt.dot_scaled", "tt.advance", "tt.make_tensor_ptr", "ttg.mask", "ttg.predicate_stage",
    },
    "the module lowers it": {"tt.func"},
    "for sm_100 only": {
        "ttng.tc_gen5_commit", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tmem_alloc", "ttng.tmem_copy", "ttng.tmem_load", "ttng.tmem_store",
        "ttng.tmem_subslice",
    },
}  # fmt: skip

NOTHING_TO_VERIFY = {
    "tt.make_tensor_descriptor", "tt.advance", "tt.make_tensor_ptr", "tt.assert", "tt.breakpoint", "tt.get_num_programs", "tt.get_program_id", "tt.print",
    "tt.histogram", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return",
}  # fmt: skip
"""Their declarations say all."""


def subclasses(op: type[Operation]) -> Iterator[type[Operation]]:
    for each in op.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_op_that_is_declared_is_in_its_front_door() -> None:
    for module in pkgutil.walk_packages(minitriton.dialects.__path__, "minitriton.dialects."):
        importlib.import_module(module.name)
    for op in subclasses(Operation):
        name = getattr(op, "name", "")
        if op.__module__.startswith("minitriton.dialects.") and "." in name:
            folder = op.__module__.removeprefix("minitriton.dialects.").partition(".")[0]
            assert op in KNOWN, f"{name} is unknown: import {op.__name__} in minitriton/dialects/{folder}/__init__.py"


@pytest.mark.parametrize("op", [op for op in KNOWN if op.name.startswith("tt.")], ids=lambda op: op.name)
def test_every_op_of_tt_has_a_verifier(op: type[Operation]) -> None:
    assert issubclass(op, Op)
    checked = op.complaint is not Op.complaint or Elementwise.of_class(op) is not None
    assert checked != (op.name in NOTHING_TO_VERIFY), (
        f"{op.name}: say what it demands in its method `complaint`, or list it in NOTHING_TO_VERIFY"
    )
    assert a_terminator(op) or op.has_trait(TensorLayouts), (
        f"{op.name}: add TensorLayouts() to its traits, which verifies sizes and layouts"
    )


def test_every_op_is_lowered() -> None:
    excused = {name for names in WITHOUT_A_LOWERING.values() for name in names}
    missing = {op.name for op in COMPUTING if op not in LOWERINGS and not a_terminator(op)}
    assert missing - excused == set(), (
        "add @lowers(...) to the family's file below minitriton/codegen/lowering/, or the name to WITHOUT_A_LOWERING"
    )
    assert excused - missing == set(), "these have a lowering by now: remove them from WITHOUT_A_LOWERING"


def test_every_op_means_something_to_the_interpreter() -> None:
    missing = {
        op.name
        for op in COMPUTING
        if op not in meanings.PURE_OPS and op not in meanings.STATEFUL_OPS and not a_terminator(op)
    }
    missing -= WITHOUT_A_LOWERING["for sm_100 only"] | WITHOUT_A_LOWERING["the module lowers it"]
    assert missing == set(), "add a meaning below minitriton/interpreter/"


@pytest.mark.parametrize(
    "op",
    [
        op
        for op in (*LLVM.operations, *NVVM.operations)
        if op.__module__.startswith("minitriton.") and op not in LOWERINGS
    ],
    ids=lambda op: op.name,
)
def test_every_op_of_the_back_end_is_written(op: type[Operation]) -> None:
    assert op in WRITERS, (
        f"{op.name}: add a writer to minitriton/codegen/text/ or codegen/nvidia/text/, or declare its PTX (PtxOp) or its intrinsic (IntrinsicOp)"
    )
