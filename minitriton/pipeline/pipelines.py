"""The order of passes, one readable list per stage. This is the whole compiler, read from top to bottom.

In: a target and options. Out: a `Pipeline` from the frontend's TTIR to PTX, LLVM's own passes included; `whole_pipeline` goes on to machine code.
"""

import functools
from typing import Protocol

from minitriton.codegen.assemblers import ASSEMBLERS
from minitriton.codegen.ptx import ptx_version
from minitriton.errors import PipelineError
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Pass
from minitriton.pipeline.request import Switches
from minitriton.target import POISON, CompileOptions, CUDAOptions, GPUTarget
from minitriton.target.architectures import LIMITS
from minitriton.target.backends import backend

_ONE_CTA_AN_SM = 32768
"""Elements of an accumulator that fill half of an SM's registers (65,536 of 32 bits): while a CTA with such an accumulator waits, no other CTA computes."""

MARK_UNDEFINED_LANES = "mark-undefined-lanes{registers=32}"
"""Of the instrumentation mode `poison`; PTX has `%envreg0` to `%envreg31`."""


def ttir_passes(target: GPUTarget, algebra: str = "exact") -> list[str]:
    """Cleans up what the frontend emits; no layouts yet. `algebra` is the compile option."""
    return [
        "inline",
        "triton-rewrite-tensor-pointer",
        *([] if target.features.has_tma else ["triton-rewrite-tensor-descriptor-to-pointer"]),
        "canonicalize",
        "minitriton-nan-in-argmax",
        "triton-combine",
        "triton-reorder-broadcast",
        "minitriton-algebra" if algebra == "exact" else f"minitriton-algebra{{level={algebra}}}",
        "minitriton-simplify-integers",
        "cse",
        "symbol-dce",
        "triton-loop-unroll",
        "minitriton-merge-tile-axes",
    ]


def ttgir_passes(target: GPUTarget, options: CUDAOptions) -> list[str]:
    """Gives every tensor a layout, then moves and removes the conversions between layouts."""
    convert = (
        f"convert-triton-to-tritongpu{{target={target.ttg_target} num-warps={options.num_warps} "
        f"threads-per-warp={target.warp_size} num-ctas={options.num_ctas}}}"
    )
    dot_operands = f"tritongpu-optimize-dot-operands{{hoist-layout-conversion={_text(target.features.has_cp_async)}}}"
    hopper = _text(target.features.has_tma)
    limit = [] if options.maxnreg is None else [f"limit-registers{{registers={options.maxnreg}}}"]
    described = (
        options.describe_tiles and options.num_stages > 1 and not options.num_warps % 4 and options.num_ctas == 1
    )
    return [
        *_on_hopper(target, *([f"minitriton-describe-tiles{{num-warps={options.num_warps}}}"] if described else [])),
        convert,
        *limit,
        "minitriton-longest-programs-first",
        "minitriton-enumerate-indices",
        "tritongpu-coalesce",
        "minitriton-coalesce-by-width",
        f"tritongpu-F32DotTC{{emu-tf32={_text(target.features.has_tf32)}}}",
        *_on_hopper(target, "triton-nvidia-gpu-plan-cta"),
        "tritongpu-remove-layout-conversions",
        "tritongpu-optimize-thread-locality{any-axis=true}",
        f"tritongpu-accelerate-matmul{{swap-tf32={hopper} wide-integers={hopper} least-scale=true}}",
        *_on_hopper(target, "minitriton-transpose-by-copies"),
        "tritongpu-remove-layout-conversions{recompute-indices=true}",
        dot_operands,
        "triton-nvidia-optimize-descriptor-encoding",
        "triton-loop-aware-cse",
        "tritongpu-fuse-nested-loops{exact-bounds=true}",
        "canonicalize",
        "triton-licm",
        "canonicalize",
        "tritongpu-combine-tensor-select-and-if",
        *_on_hopper(target, f"nvgpu-warp-specialization{{num-stages={options.num_stages}}}"),
        *_pipelining(target, options),
        "canonicalize",
        "triton-loop-aware-cse",
        "tritongpu-prefetch",
        dot_operands,
        "tritongpu-coalesce-async-copy",
        *_on_hopper(target, "triton-nvidia-tma-lowering"),
        "tritongpu-remove-layout-conversions",
        "tritongpu-reduce-data-duplication",
        "tritongpu-reorder-instructions",
        "triton-loop-aware-cse",
        "symbol-dce",
        *_on_hopper(target, f"triton-nvidia-gpu-fence-insertion{{compute-capability={target.arch}}}"),
        "sccp",
        "cse",
        "canonicalize",
        "minitriton-sink-widening-casts",
        "minitriton-tile-loops",
        "minitriton-split-chains",
    ]


def _pipelining(target: GPUTarget, options: CUDAOptions) -> tuple[str, ...]:
    """Loads of later iterations run while earlier ones compute, where the target has asynchronous copies."""
    if not target.features.has_cp_async:
        return ()
    stages = f"{{num-stages={options.num_stages}}}"
    slices = f"slice-from={_ONE_CTA_AN_SM if target.features.has_tma else 0}"
    return (
        f"tritongpu-assign-latencies{stages}",
        "tritongpu-schedule-loops",
        *_on_hopper(target, "minitriton-overlap-dots"),
        f"tritongpu-pipeline{{num-stages={options.num_stages} {slices} "
        f"async-integer-dots={_text(target.features.has_tma)} exact-bounds=true}}",
    )


def _on_hopper(target: GPUTarget, *passes: str) -> tuple[str, ...]:
    """`passes` where the target has tensor copies and asynchronous tensor cores, else none."""
    return passes if target.features.has_tma else ()


def llvm_passes() -> list[str]:
    """Settles how shared memory is used, allocates memory, orders the accesses of it, and lowers to the LLVM dialect."""
    return [
        "tritongpu-combine-tensor-select-and-if",
        "tritongpu-allocate-warp-groups",
        "minitriton-hoist-tma-copies",
        "minitriton-hoist-loop-copies",
        "minitriton-sink-dot-waits",
        "hold-wgmma-registers",
        "minitriton-guard-dot-loops",
        "minitriton-share-pointer-steps",
        "minitriton-use-free-shared-memory",
        "exchange-between-ctas",
        "tritongpu-global-scratch-memory-allocation",
        "place-shared-memory",
        "insert-proxy-fences",
        "insert-barriers",
        "minitriton-first-warp-barriers",
        "minitriton-alternate-warp-groups",
        "minitriton-cache-reused-loads",
        "minitriton-ordered-indices",
        "convert-triton-gpu-to-llvm",
    ]


def emission_steps(target: GPUTarget, options: CUDAOptions, switches: Switches) -> list[str]:
    """LLVM IR, LLVM's optimiser, PTX."""
    version = ptx_version(options, target)
    has_variables = switches.line_info and switches.local_variables
    flags = f' flags="{",".join(switches.llvm_flags)}"' if switches.llvm_flags else ""
    variables, keep = (" local-variables", " keep-debug") if has_variables else ("", "")
    return [
        f"translate-to-llvm-ir{{line-info={_text(switches.line_info)} reflect-ftz={_text(options.enable_reflect_ftz)} "
        f"ptx-version={version}{variables}}}",
        f"optimize-llvm-ir{{arch={target.arch} level={3 if switches.optimize_llvm else 0}{_libraries(options)}{flags}}}",
        f"emit-ptx{{arch={target.arch} enable-fp-fusion={_text(options.enable_fp_fusion)} ptx-version={version}{keep}{flags}}}",
    ]


class AssemblyOptions(Protocol):
    """What assembling asks of options: a `CUDAOptions`, or a kernel's metadata."""

    @property
    def enable_fp_fusion(self) -> bool: ...

    @property
    def maxnreg(self) -> int | None: ...

    @property
    def ptx_options(self) -> str | None: ...


def assembly_step(target: GPUTarget, options: AssemblyOptions, switches: Switches) -> str:
    """The step that assembles the PTX."""
    given = [f"arch={target.arch}"]
    given += [] if options.maxnreg is None else [f"registers={min(options.maxnreg, LIMITS.registers_per_thread)}"]
    given += [] if options.enable_fp_fusion else ["enable-fp-fusion=false"]
    given += [f"assembler={switches.assembler}"] if switches.assembler in ASSEMBLERS else []
    flags = " ".join(f"{switches.assembler_flags} {options.ptx_options or ''}".split())
    if flags:
        given.append('flags="' + flags.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return f"assemble-ptx{{{' '.join(given)}}}"


def _libraries(options: CUDAOptions) -> str:
    """The option that names the files of `extern_libs`, in their order. Raises `PipelineError` for a path that an option cannot hold."""
    paths = [path for _, path in options.extern_libs]
    for path in paths:
        if "," in path or '"' in path:
            raise PipelineError(
                f"extern_libs: {path!r} cannot stand in a pipeline", help='name the file without , and "'
            )
    return f' libraries="{",".join(paths)}"' if paths else ""


def _text(flag: bool) -> str:
    return str(flag).lower()


def gluon_passes() -> list[str]:
    """Of a Gluon kernel, whose first IR is TTGIR: inlines, resolves the layouts that the author left open, cleans up."""
    return [
        "gluon-inline{control-flow=false}",
        "gluon-infer-coalesced-encodings",
        "gluon-resolve-auto-encodings",
        "triton-nvidia-tma-lowering",
        "gluon-canonicalize{control-flow=false}",
        "sccp",
        "triton-loop-aware-cse",
        "gluon-canonicalize{control-flow=false}",
        "tritongpu-combine-tensor-select-and-if",
    ]


def gluon_cuda_steps(target: GPUTarget, options: CUDAOptions, switches: Switches) -> list[str]:
    """All steps of a Gluon kernel for an NVIDIA GPU."""
    marks = [MARK_UNDEFINED_LANES] if options.instrumentation_mode == POISON else []
    lowering = [name for name in llvm_passes() if name != "minitriton-hoist-loop-copies"]  # the author's order stays
    lowering.insert(lowering.index("minitriton-first-warp-barriers") + 1, "minitriton-share-tensor-copies")
    return marks + gluon_passes() + lowering + emission_steps(target, options, switches)


def cuda_steps(target: GPUTarget, options: CUDAOptions, switches: Switches) -> list[str]:
    """All steps for an NVIDIA GPU."""
    first = ttir_passes(target, options.algebra)
    if options.instrumentation_mode == POISON:
        first.insert(first.index("canonicalize"), MARK_UNDEFINED_LANES)
    return first + ttgir_passes(target, options) + llvm_passes() + emission_steps(target, options, switches)


@functools.lru_cache(maxsize=256)
def pipeline_for(
    target: GPUTarget, options: CompileOptions, switches: Switches = Switches(), ext: str = "source"
) -> Pipeline:
    """The pipeline that compiles for `target` a source of kind `ext` (a Gluon kernel: "gluon"); `options.pipeline` replaces it, `options.without` leaves out passes.

    Raises `PipelineError` for a bad one.
    """
    if options.pipeline is not None:
        return Pipeline.parse(options.pipeline)
    part = "gluon_pipeline" if ext == "gluon" else "pipeline"
    steps = backend(target.backend).load(part)(target, options, switches)
    return _left(Pipeline.parse(",".join(steps)), options.without)


def whole_pipeline(
    target: GPUTarget, options: CompileOptions, switches: Switches = Switches(), ext: str = "source"
) -> Pipeline:
    """`pipeline_for`, and the step that is run when its binary is asked for, unless `options.pipeline` names one or ends before it."""
    pipeline, found = pipeline_for(target, options, switches, ext), backend(target.backend)
    stages = {step.stage for step in pipeline.steps}
    if found.assembly is None or not stages.isdisjoint(found.stages_when_asked) or found.stages[-1] not in stages:
        return pipeline
    return pipeline + Pipeline.parse(found.load("assembly")(target, options, switches))


def _left(pipeline: Pipeline, without: str) -> Pipeline:
    """`pipeline` without the passes that `without` names; `minitriton` stands for all that Triton does not have, options too."""
    named = dict.fromkeys(name for each in without.split(",") if (name := each.strip()))
    for name in named:
        if name != "minitriton":
            pipeline = pipeline.skip(name)
    return as_in_triton(pipeline) if "minitriton" in named else pipeline


def as_in_triton(pipeline: Pipeline) -> Pipeline:
    """`pipeline` without the passes that Triton does not have, the others with Triton's choice of their options."""
    kept = (step for step in pipeline.steps if step.origin != "optional")
    return Pipeline(tuple(step.as_in_triton() if isinstance(step, Pass) else step for step in kept))
