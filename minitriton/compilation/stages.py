"""Where one stage of a compile ends and the next begins.

split(pipeline_for(sm_90, options), "source")    →    [("ttir", inline,...), ("ttgir", convert-triton-to-tritongpu,...), ("llir", ...), ("ptx", emit-ptx)]
split(pipeline_for(sm_90, options), "ttgir")     →    [("llir", ...), ("ptx", emit-ptx)]
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from minitriton.compilation.stage_names import STAGES
from minitriton.dialects import tt
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.memory_access import DescriptorAccess
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.pass_manager import Pipeline
from minitriton.pass_registry import Property, Step
from minitriton.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

_TENSORS = frozenset({Property.TENSOR_IR, Property.STRUCTURED, Property.UNPLACED})

_FIRST_FACTS: dict[str, frozenset[Property]] = {
    "source": _TENSORS | {Property.TTIR},
    "ttir": _TENSORS | {Property.TTIR, Property.INLINED, Property.BLOCK_POINTERS_REWRITTEN},
    "ttgir": _TENSORS
    | {
        Property.ENCODINGS,
        Property.INLINED,
        Property.BLOCK_POINTERS_REWRITTEN,
        Property.DESCRIPTORS_LOWERED,
        Property.SINGLE_CTA,
        Property.ONE_CTA,
    },
    "llir": frozenset({Property.LLVM_IR}),
    "ptx": frozenset({Property.PTX}),
}


def first_facts(ext: str, target: GPUTarget) -> frozenset[Property]:
    """What holds where a compile of the frontend's IR (`source`), or of a stage's text, begins.

    The TTIR stage takes descriptors apart where `target` has no tensor copies; elsewhere later passes do.
    """
    facts = _FIRST_FACTS[ext]
    return facts | {Property.DESCRIPTORS_LOWERED} if ext == "ttir" and not target.features.has_tma else facts


def facts_of(value: object, ext: str, target: GPUTarget) -> frozenset[Property]:
    """What holds of `value`, where a compile of `ext` begins: a file of IR may hold what the stages before would have replaced."""
    facts = first_facts(ext, target)
    if ext == "source" or not isinstance(value, ModuleOp):
        return facts
    untrue: set[Property] = set()
    if num_ctas(value) > 1:
        untrue |= {Property.SINGLE_CTA, Property.ONE_CTA}
    for op in ops_in(value):
        if isinstance(op, tt.MakeTensorPtrOp):
            untrue.add(Property.BLOCK_POINTERS_REWRITTEN)
        elif DescriptorAccess.of(op) is not None:
            untrue.add(Property.DESCRIPTORS_LOWERED)
    return facts - untrue


def split(pipeline: Pipeline, ext: str) -> list[tuple[str, Pipeline]]:
    """The stages after `ext`, each with its part of `pipeline` (a stage's own passes are not run on its text)."""
    parts: dict[str, list[Step]] = {"ttir": []} if ext == "source" else {}
    stage = "ttir"
    for step in pipeline.steps:
        stage = _stage_of(step, stage)
        parts.setdefault(stage, []).append(step)
    first = 0 if ext == "source" else STAGES.index(ext) + 1
    return [(stage, Pipeline(tuple(parts[stage]))) for stage in STAGES[first:] if stage in parts]


def own_pipeline(target: GPUTarget, options: CUDAOptions, ext: str) -> Pipeline:
    """The target's own passes after the stage `ext`."""
    parts = [] if ext == "ptx" else split(pipeline_for(target, options), ext)
    return Pipeline(tuple(step for _, part in parts for step in part.steps))


def _stage_of(step: Step, stage: str) -> str:
    """The stage that `step` is part of, after one of `stage`."""
    if Property.PTX in step.establishes:
        return "ptx"
    if stage != "llir" and _starts_lowering(step):
        return "llir"
    if stage == "ttir" and Property.ENCODINGS in step.establishes:
        return "ttgir"
    return stage


def _starts_lowering(step: Step) -> bool:
    """Whether `step` is the first after the `ttgir` stage: it decides about shared memory, or leaves the IR's structure."""
    leaves = {Property.GLOBAL_SCRATCH, Property.SHARED_ALLOCATED, Property.LLVM_DIALECT} & step.establishes
    return bool(leaves) or bool({Property.SHARED_ALLOCATED, Property.STRUCTURED} & step.destroys)
