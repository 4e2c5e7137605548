"""Where one stage of a compile ends and the next begins.

split(pipeline_for(sm_90, options), "source")    →    [("ttir", inline,...), ("ttgir", convert-triton-to-tritongpu,...), ("llir", ...), ("ptx", emit-ptx)]
split(pipeline_for(sm_90, options), "ttgir")     →    [("llir", ...), ("ptx", emit-ptx)]

What the environment asks to be shown of a compile: the IR before each pass, the time of each, all stages in a folder, or what replays a stage.

MLIR_ENABLE_DUMP=1 (or =kernel_name)   the IR before each pass, on standard error or in the file MLIR_DUMP_PATH
MLIR_ENABLE_TIMING=1                   the time of each pass, on standard error, a table for each stage
TRITON_KERNEL_DUMP=1                   every stage, below TRITON_DUMP_DIR (default ~/.triton/dump)
TRITON_REPRODUCER_PATH=PREFIX          PREFIX.make_ttgir.repro.mlir: the IR before the stage and its passes; of a pass that
                                       fails, the IR before that pass
"""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton import knobs
from minitriton.analysis.axis_info.lattice import axis_lengths
from minitriton.codegen.assemble_ptx import AssemblePTX
from minitriton.codegen.assembled_code import Cubin
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.memory_access import DescriptorAccess
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import stem_of, write_whole
from minitriton.passes.fuse_nested_loops.speculation import WARP_SPECIALIZE
from minitriton.pipeline.pass_manager import Hook, Pipeline, Timings, representation_text
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
        found.discard(Property.NO_ASYNC_DOTS)
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


def emitted(stage: str, llvm_ir: str, pipeline: str) -> str | None:
    """The text of `stage` that waited until it was asked for (`Translation.may_wait`); None if `pipeline`, the text of a whole one, lacks it.
    `llvm_ir` is `CheckedLLVMIR` or is checked."""
    steps = [step for step in Pipeline.parse(pipeline).steps if step.stage == stage and isinstance(step, Translation)]
    return str(steps[0].translate(llvm_ir)) if steps else None


def default_pipeline(target: GPUTarget, options: CompileOptions, ext: str) -> Pipeline:
    """The target's passes after the stage `ext`, to PTX."""
    parts = [] if ext == "ptx" else split(pipeline_for(target, options, ext=ext), ext, all_stages_of(target.backend))
    return Pipeline(tuple(step for _, part in parts for step in part.steps))


class _DumpBefore(Hook):
    """Prints the IR before each pass to standard error, or to the file `MLIR_DUMP_PATH`."""

    def before(self, step: Step, value: object) -> None:
        text = f"// -----// IR Dump Before {step.name} //----- //\n{representation_text(value)}\n"
        path = knobs.compilation.dump_passes_path
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
        else:
            print(text, file=sys.stderr)


class _PrintedTimings(Timings):
    """Prints how long the passes of a stage took, once it is done."""

    def at_end(self) -> None:
        print(f"// -----// Execution time of passes //----- //\n{self.table()}", file=sys.stderr)
        self.seconds.clear()


def environment_hooks(name: str) -> list[Hook]:
    """What prints the IR before each pass, or the time of each; a cached kernel is then compiled again."""
    wanted = knobs.compilation.dump_passes
    dumps: list[Hook] = [_DumpBefore()] if wanted == "1" or wanted == name else []
    return [*dumps, _PrintedTimings()] if knobs.compilation.time_passes else dumps


def reproducer_path(stage: str) -> Path | None:
    """Where the reproducer of a stage of modules is wanted, or None."""
    prefix = knobs.compilation.reproducer_path
    return Path(f"{prefix}.make_{stage}.repro.mlir") if prefix and stage != "ptx" else None


def dump_stages(name: str, source_hash: str, asm: dict[str, str | bytes]) -> None:
    """`TRITON_KERNEL_DUMP=1`: writes every stage below `TRITON_DUMP_DIR` (default `~/.triton/dump`), in a folder that stays
    the same for the same source; the disassembly too where there is a cubin and a disassembler."""
    folder = Path(knobs.cache.dump_dir) / source_hash
    folder.mkdir(parents=True, exist_ok=True)
    if "cubin" in asm:
        with contextlib.suppress(MinitritonError):
            asm["sass"]
    for stage, content in asm.items():
        write_whole(folder / f"{stem_of(name)}.{stage}", content)
