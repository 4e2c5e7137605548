"""Where one stage of a compile ends and the next begins.

split(pipeline_for(sm_90, options), "source")    →    [("ttir", inline,...), ("ttgir", convert-triton-to-tritongpu,...), ("llir", ...), ("ptx", emit-ptx)]
split(pipeline_for(sm_90, options), "ttgir")     →    [("llir", ...), ("ptx", emit-ptx)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.axis_info.types import axis_lengths
from minitriton.codegen.assemble_ptx import AssemblePTX, Cubin
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.memory_access import DescriptorAccess
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.passes.fuse_nested_loops.speculation import WARP_SPECIALIZE
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Property, Step, Translation, with_implied
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.backends import ALL_STAGES, all_stages_of

FIRST_STAGES = {"source": "ttir", "gluon": "ttgir"}
"""The stage whose passes run first on the IR of a Python kernel, in `tl` or in Gluon."""

_TENSORS = frozenset({Property.TENSOR_IR, Property.STRUCTURED, Property.NO_TRITON_ALLOCATION, Property.PARTITION_WARPS})

_FIRST_PROPERTIES: dict[str, frozenset[Property]] = {
    "source": _TENSORS | {Property.TTIR},
    "gluon": _TENSORS
    | {
        Property.ENCODINGS,
        Property.BLOCK_POINTERS_REWRITTEN,
        Property.DESCRIPTOR_LAYOUTS,
        Property.DOT_OPERANDS_FENCED,
    },
    "ttir": _TENSORS | {Property.TTIR, Property.INLINED, Property.BLOCK_POINTERS_REWRITTEN},
    "ttgir": _TENSORS
    | {
        Property.ENCODINGS,
        Property.INLINED,
        Property.BLOCK_POINTERS_REWRITTEN,
        Property.DESCRIPTOR_LAYOUTS,
        Property.DOT_OPERANDS_FENCED,
    },
    "llir": frozenset({Property.LLVM_IR}),
    "ptx": frozenset({Property.PTX}),
}


def first_properties(ext: str) -> frozenset[Property]:
    """What holds of every kernel where a compile of the frontend's IR (`source`, `gluon`), or of a stage's text, begins."""
    return _FIRST_PROPERTIES[ext]


def properties_of(value: object, ext: str, target: GPUTarget) -> frozenset[Property]:
    """What holds of `value`, where a compile of `ext` begins: also that it lacks ops of some kinds, and needs no pass for these.

    A file of IR may hold what the stages before would have replaced.
    """
    facts = set(first_properties(ext))
    if not isinstance(value, ModuleOp):
        return frozenset(facts)
    found = {fact for op in ops_in(value) for fact in _untrue_for(op)}
    facts |= {Property.NO_DESCRIPTORS, Property.NO_ASYNC_DOTS, Property.NO_PARTITIONS} - found
    if not target.features.has_wgmma:
        facts.add(Property.NO_ASYNC_DOTS)
    if ext in ("ttgir", "gluon") and num_ctas(value) == 1:
        facts.add(Property.NO_CLUSTERS)
    return with_implied(frozenset(facts - found))


_REDUCED_MULTIPLICATION_RANK = 3
"""`triton-combine` makes a dot of a reduced multiplication whose operands are broadcast to this many dimensions."""


def _untrue_for(op: Operation) -> Iterator[Property]:
    """Which facts the presence of `op` makes untrue."""
    if isinstance(op, tt.MakeTensorPtrOp):
        yield Property.BLOCK_POINTERS_REWRITTEN
    if DescriptorAccess.of(op) is not None:
        yield Property.NO_DESCRIPTORS
    if Contraction.of(op) is not None or (
        isinstance(op, tt.ReduceOp) and len(axis_lengths(op.operands[0].type)) >= _REDUCED_MULTIPLICATION_RANK
    ):
        yield Property.NO_ASYNC_DOTS
    if isinstance(op, ttg.WarpSpecializeOp):
        yield from (Property.NO_PARTITIONS, Property.PARTITION_WARPS)
    if WARP_SPECIALIZE in op.attributes:
        yield Property.NO_PARTITIONS


def split(pipeline: Pipeline, ext: str, stages: tuple[str, ...] = ALL_STAGES) -> list[tuple[str, Pipeline]]:
    """The stages after `ext`, each with its part of `pipeline` (a stage's own passes are not run on its text). `stages` are the target's."""
    stage = FIRST_STAGES.get(ext, "ttir")
    parts: dict[str, list[Step]] = {stage: []} if ext in FIRST_STAGES else {}
    for step in pipeline.steps:
        stage = max(stage, step.stage or stage, key=stages.index)  # none that has been left
        parts.setdefault(stage, []).append(step)
    first = stages.index(FIRST_STAGES[ext]) if ext in FIRST_STAGES else stages.index(ext) + 1
    return [(stage, Pipeline(tuple(parts[stage]))) for stage in stages[first:] if stage in parts]


def assemble(text: str, pipeline: str, registers: str = "") -> Cubin:
    """What the last stage of `pipeline`, the text of a whole one, makes of `text`; with `registers` as that option. Raises `AssemblerError`."""
    value: object = text
    steps = Pipeline.parse(pipeline).steps
    for step in steps:
        if step.stage == steps[-1].stage and isinstance(step, Translation):
            given = replace(step, registers=registers) if registers and isinstance(step, AssemblePTX) else step
            value = given.translate(value)
    return value if isinstance(value, Cubin) else Cubin(value if isinstance(value, bytes) else str(value).encode())


def default_pipeline(target: GPUTarget, options: CompileOptions, ext: str) -> Pipeline:
    """The target's passes after the stage `ext`, to PTX."""
    parts = [] if ext == "ptx" else split(pipeline_for(target, options, ext=ext), ext, all_stages_of(target.backend))
    return Pipeline(tuple(step for _, part in parts for step in part.steps))
