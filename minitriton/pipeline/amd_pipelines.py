"""The order of passes for AMD's GPUs, one readable list per stage, from the frontend's IR to assembly, and the code object."""

from __future__ import annotations

from minitriton.pipeline.request import Switches
from minitriton.target import GPUTarget
from minitriton.target.amd import HIPOptions


def ttir_passes() -> list[str]:
    """Cleans up what the frontend emits; no layouts yet."""
    return [
        "inline",
        "triton-rewrite-tensor-pointer",
        "triton-rewrite-tensor-descriptor-to-pointer",
        "canonicalize",
        "minitriton-nan-in-argmax",
        "triton-combine",
        "triton-reorder-broadcast",
        "minitriton-simplify-integers",
        "cse",
        "triton-licm",
        "symbol-dce",
        "triton-loop-unroll",
    ]


def ttgir_passes(target: GPUTarget, options: HIPOptions, switches: Switches) -> list[str]:
    """Gives every tensor a layout, then moves and removes the conversions between layouts."""
    arch, copies = target.arch, switches.async_copy
    is_gfx942 = arch == "gfx942"
    pingpong = _or(switches.block_pingpong, is_gfx942 or (arch == "gfx950" and copies))
    return [
        f"convert-triton-to-tritongpu{{target={target.ttg_target} num-warps={options.num_warps} "
        f"threads-per-warp={options.warp_size} num-ctas={options.num_ctas}}}",
        "tritongpu-coalesce",
        "tritongpu-F32DotTC{emu-tf32=false}",
        "tritongpu-remove-layout-conversions",
        "tritongpu-optimize-thread-locality",
        f"tritonamdgpu-accelerate-matmul{{matrix-instruction-size={options.matrix_instr_nonkdim} kpack={options.kpack} legalize-fma=false}}",
        "tritongpu-remove-layout-conversions",
        "tritonamdgpu-optimize-epilogue",
        f"tritonamdgpu-optimize-dot-operands{{arch-generation-name={arch}}}",
        "tritonamdgpu-hoist-layout-conversions",
        "tritongpu-fuse-nested-loops",
        "canonicalize",
        "triton-licm",
        "canonicalize",
        f"tritonamdgpu-schedule-loops{{num-stages={options.num_stages}}}",
        f"tritonamdgpu-pipeline{{use-async-copy={_text(copies)} use-pingpong={_text(pingpong)}}}",
        *((f"tritonamdgpu-coalesce-async-copy{{arch-generation-name={arch}}}",) if copies else ()),
        "canonicalize",
        *(f"triton-amdgpu-insert-instruction-sched-hints{{variant={hint}}}" for hint in _hints(options)),
        "tritongpu-remove-layout-conversions",
        "tritongpu-reduce-data-duplication",
        *(
            ("tritonamdgpu-in-thread-transpose", "tritongpu-remove-layout-conversions")
            if _or(switches.in_thread_transpose, is_gfx942)
            else ()
        ),
        "tritonamdgpu-reorder-instructions",
        *(
            (f"tritonamdgpu-block-pingpong{{num-stages={options.num_stages} ordered-reads=true}}",)
            if pingpong and options.num_stages > 1
            else ()
        ),
        "tritonamdgpu-canonicalize-pointers{enable-large-tensor-ptr-canon=true narrow-carried=false}",
        "canonicalize",
        f"tritonamdgpu-convert-buffer-ops{{arch-generation-name={arch} wide-offsets=true}}",
        "tritonamdgpu-fold-true-cmpi",
        "canonicalize",
        "cse",
        "symbol-dce",
    ]


def llvm_passes(target: GPUTarget, options: HIPOptions) -> list[str]:
    """Allocates memory, orders the accesses of it, and lowers to the LLVM dialect."""
    hints = f"triton-amdgpu-lower-insert-instruction-sched-hints{{arch={target.arch} num-stages={options.num_stages}}}"
    return [
        f"optimize-amd-lds-usage{{target-arch={target.arch} padding=false}}",
        *((hints,) if _hints(options) else ()),
        f"tritonamdgpu-update-async-wait-count{{arch-generation-name={target.arch} sure-copies-only=true}}",
        "tritongpu-combine-tensor-select-and-if",
        "tritongpu-allocate-warp-groups",
        "tritongpu-global-scratch-memory-allocation",
        "place-shared-memory",
        "insert-proxy-fences",
        "insert-barriers",
        "minitriton-ordered-indices",
        "convert-triton-gpu-to-llvm",
    ]


def emission_steps(target: GPUTarget, options: HIPOptions, switches: Switches) -> list[str]:
    """LLVM IR, LLVM's optimiser, assembly."""
    arch = f"arch={target.arch}"
    flags = _flags(switches)
    level = 3 if switches.optimize_llvm else 0
    strategy = " strategy=iterative-ilp" if "memory-bound-attention" in options.schedule_hint.split(",") else ""
    return [
        f"translate-to-amdgpu-llvm-ir{{line-info={_text(switches.line_info)} waves-per-eu={options.waves_per_eu} "
        f"flush-denormals={_text(options.allow_flush_denorm)}{strategy}}}",
        f"optimize-amdgpu-llvm-ir{{{arch} level={level} enable-fp-fusion={_text(options.enable_fp_fusion)}{flags}}}",
        f"emit-amdgcn{{{arch}{flags}}}",
    ]


def assembly_step(target: GPUTarget, options: HIPOptions, switches: Switches) -> str:
    """The step that makes the code object."""
    return f"link-hsaco{{arch={target.arch}{_flags(switches)}}}"


def _flags(switches: Switches) -> str:
    """LLVM's own, of all steps that run it: text and code object are of the same code."""
    return f' flags="{",".join(switches.llvm_flags)}"' if switches.llvm_flags else ""


def _or(switch: bool | None, default: bool) -> bool:
    return default if switch is None else switch


def _hints(options: HIPOptions) -> list[str]:
    """Variants of scheduling hints; those that only LLVM knows ("memory-bound-attention") are not among them."""
    return [hint for hint in options.schedule_hint.lower().split(",") if hint == "attention"]


def _text(flag: bool) -> str:
    return str(flag).lower()


def hip_steps(target: GPUTarget, options: HIPOptions, switches: Switches) -> list[str]:
    """All steps for one of AMD's GPUs."""
    return [
        *ttir_passes(),
        *ttgir_passes(target, options, switches),
        *llvm_passes(target, options),
        *emission_steps(target, options, switches),
    ]


def gluon_passes() -> list[str]:
    """Of a Gluon kernel, whose first IR is TTGIR: inlines, resolves the layouts that the author left open, cleans up."""
    return [
        "gluon-inline{control-flow=false}",
        "gluon-infer-coalesced-encodings",
        "gluon-resolve-auto-encodings",
        "sccp",
        "triton-loop-aware-cse",
        "gluon-canonicalize{control-flow=false}",
        "tritongpu-combine-tensor-select-and-if",
    ]


def gluon_hip_steps(target: GPUTarget, options: HIPOptions, switches: Switches) -> list[str]:
    """All steps of a Gluon kernel for one of AMD's GPUs."""
    return [*gluon_passes(), *llvm_passes(target, options), *emission_steps(target, options, switches)]
