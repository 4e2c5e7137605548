"""Our passes against Triton's on the same IR: what `triton_steps.py` recorded of a kernel, judged step by step.

    judge_steps(record)      # one Verdict a step: "equal", "differs", "fails" or "absent"
    judge_stages(path, record)      # the same for what our frontend and our whole pipeline make of the kernel

Structurally equal is: the same text once names of values, locations and attribute aliases are taken away. Where whole stages are
compared, the order of constants is taken away too, for it stems from what the two frontends emit and nobody uses; and from the
frontends' own IR also that itself (repeated constants, unused arithmetic, blocks that nobody reaches, casts to the same type, empty
`else`s, jumps to the next block). Passes that Triton does not have are left out.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wheel_passes import canonical_text
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt import FuncOp
from minitriton.passes.cse import Cse
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pass_registry import Pass, find_pass
from minitriton.pipeline.pipeline_spec import make_step
from minitriton.rewriting.regions import erase_dead_ops, erase_unreachable_blocks

sys.path.insert(0, str(Path(__file__).parents[1] / "plugins"))
import triton_test_passes  # noqa: F401

NAMES = {
    "common.add_inliner": "inline",
    "ttir.add_rewrite_tensor_pointer": "triton-rewrite-tensor-pointer",
    "ttir.add_rewrite_tensor_descriptor_to_pointer": "triton-rewrite-tensor-descriptor-to-pointer",
    "common.add_canonicalizer": "canonicalize",
    "ttir.add_combine": "triton-combine",
    "ttir.add_reorder_broadcast": "triton-reorder-broadcast",
    "common.add_cse": "cse",
    "common.add_symbol_dce": "symbol-dce",
    "ttir.add_loop_unroll": "triton-loop-unroll",
    "ttir.add_convert_to_ttgpuir": "convert-triton-to-tritongpu",
    "ttgpuir.add_coalesce": "tritongpu-coalesce",
    "ttgpuir.add_f32_dot_tc": "tritongpu-F32DotTC",
    "ttnvgpuir.add_plan_cta": "triton-nvidia-gpu-plan-cta",
    "ttgpuir.add_remove_layout_conversions": "tritongpu-remove-layout-conversions",
    "ttgpuir.add_optimize_thread_locality": "tritongpu-optimize-thread-locality",
    "ttgpuir.add_accelerate_matmul": "tritongpu-accelerate-matmul",
    "ttgpuir.add_optimize_dot_operands": "tritongpu-optimize-dot-operands",
    "ttnvgpuir.add_optimize_descriptor_encoding": "triton-nvidia-optimize-descriptor-encoding",
    "ttir.add_loop_aware_cse": "triton-loop-aware-cse",
    "ttgpuir.add_fuse_nested_loops": "tritongpu-fuse-nested-loops",
    "ttir.add_triton_licm": "triton-licm",
    "ttgpuir.add_combine_tensor_select_and_if": "tritongpu-combine-tensor-select-and-if",
    "hopper.add_hopper_warpspec": "nvgpu-warp-specialization",
    "ttgpuir.add_assign_latencies": "tritongpu-assign-latencies",
    "ttgpuir.add_schedule_loops": "tritongpu-schedule-loops",
    "ttgpuir.add_pipeline": "tritongpu-pipeline",
    "ttgpuir.add_prefetch": "tritongpu-prefetch",
    "ttgpuir.add_coalesce_async_copy": "tritongpu-coalesce-async-copy",
    "ttnvgpuir.add_optimize_tmem_layouts": "triton-nvidia-optimize-tmem-layouts",
    "ttnvgpuir.add_tma_lowering": "triton-nvidia-tma-lowering",
    "ttnvgpuir.add_interleave_tmem": "triton-nvidia-interleave-tmem",
    "ttgpuir.add_reduce_data_duplication": "tritongpu-reduce-data-duplication",
    "ttgpuir.add_reorder_instructions": "tritongpu-reorder-instructions",
    "ttnvgpuir.add_fence_insertion": "triton-nvidia-gpu-fence-insertion",
    "ttnvgpuir.add_lower_mma": "triton-nvidia-mma-lowering",
    "common.add_sccp": "sccp",
    "ttgpuir.add_allocate_warp_groups": "tritongpu-allocate-warp-groups",
    "convert.add_scf_to_cf": "convert-scf-to-cf",
    "gluon.add_inliner": "gluon-inline",
    "ttgpuir.add_allocate_shared_memory_nv": "allocate-shared-memory-nv",
    "ttnvgpuir.add_allocate_tensor_memory": "triton-tensor-memory-allocation",
    "ttnvgpuir.add_check_matmul_two_cta": "triton-nvidia-check-matmul-two-cta",
    "ttgpuir.add_allocate_global_scratch_memory": "tritongpu-global-scratch-memory-allocation",
    "ttnvgpuir.add_proxy_fence_insertion": "triton-nvidia-gpu-proxy-fence-insertion",
    "amd.ttgpuir.add_accelerate_matmul": "tritonamdgpu-accelerate-matmul",
    "amd.ttgpuir.add_optimize_epilogue": "tritonamdgpu-optimize-epilogue",
    "amd.ttgpuir.add_optimize_dot_operands": "tritonamdgpu-optimize-dot-operands",
    "amd.ttgpuir.add_hoist_layout_conversions": "tritonamdgpu-hoist-layout-conversions",
    "amd.ttgpuir.add_schedule_loops": "tritonamdgpu-schedule-loops",
    "amd.ttgpuir.add_pipeline": "tritonamdgpu-pipeline",
    "amd.ttgpuir.add_coalesce_async_copy": "tritonamdgpu-coalesce-async-copy",
    "amd.ttgpuir.add_in_thread_transpose": "tritonamdgpu-in-thread-transpose",
    "amd.ttgpuir.add_reorder_instructions": "tritonamdgpu-reorder-instructions",
    "amd.ttgpuir.add_block_pingpong": "tritonamdgpu-block-pingpong",
    "amd.ttgpuir.add_canonicalize_pointers": "tritonamdgpu-canonicalize-pointers",
    "amd.ttgpuir.add_convert_to_buffer_ops": "tritonamdgpu-convert-buffer-ops",
    "amd.ttgpuir.add_fold_true_cmpi": "tritonamdgpu-fold-true-cmpi",
    "amd.ttgpuir.add_update_async_wait_count": "tritonamdgpu-update-async-wait-count",
    "amd.ttgpuir.add_optimize_lds_usage": "optimize-amd-lds-usage",
    "amd.ttgpuir.add_allocate_shared_memory": "allocate-amdgpu-shared-memory",
}
"""The wheel's function that adds a pass, and the flag of the pass: Triton's `triton-opt` and ours have the same."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "convert-triton-to-tritongpu": ("target", "num-warps", "threads-per-warp", "num-ctas"),
    "tritongpu-F32DotTC": ("emu-tf32",),
    "tritongpu-optimize-dot-operands": ("hoist-layout-conversion",),
    "nvgpu-warp-specialization": ("num-stages", "dump-intermediate-steps"),
    "tritongpu-assign-latencies": ("num-stages",),
    "tritongpu-pipeline": ("num-stages", "dump-intermediate-steps"),
    "triton-nvidia-gpu-fence-insertion": ("compute-capability",),
    "triton-nvidia-gpu-proxy-fence-insertion": ("compute-capability",),
    "allocate-shared-memory-nv": ("compute-capability", "ptx-version"),
    "tritonamdgpu-accelerate-matmul": ("arch-generation-name", "matrix-instruction-size", "kpack"),
    "tritonamdgpu-optimize-dot-operands": ("arch-generation-name",),
    "tritonamdgpu-schedule-loops": ("num-stages",),
    "tritonamdgpu-pipeline": ("use-async-copy", "use-pingpong"),
    "tritonamdgpu-coalesce-async-copy": ("arch-generation-name",),
    "tritonamdgpu-block-pingpong": ("num-stages",),
    "tritonamdgpu-convert-buffer-ops": ("arch-generation-name", "allow-buffer-atomics", "analyze-small-tensor-ofst"),
    "tritonamdgpu-update-async-wait-count": ("arch-generation-name",),
    "optimize-amd-lds-usage": ("target-arch", "lds-limit"),
}
"""The options that the wheel's function takes by position. Options that our pass does not have are left out."""


RESTORING: dict[str, dict[str, str]] = {"tritongpu-prefetch": {"keep-loop-attributes": "false"}}
"""Options that restore what Triton does where ours is another on purpose."""


@dataclass(frozen=True)
class Verdict:
    """How one of our passes did on one step of Triton's."""

    step: int
    name: str
    outcome: str
    detail: str = ""


def flag_of(step: dict[str, Any]) -> str:
    """The flag of the pass of a recorded step."""
    return NAMES.get(step["pass"]) or step["pass"]


def our_pass(name: str, args: list[Any]) -> Pass | None:
    """Our pass of that flag with Triton's options, or None if there is none."""
    known = find_pass(name)
    if known is None:
        return None
    fields = {f.replace("_", "-") for f in getattr(known, "__dataclass_fields__", {})}
    given = zip(OPTIONS.get(name, ()), args, strict=True)
    step = make_step(name, {o: _option_text(v) for o, v in given if o in fields} | RESTORING.get(name, {}))
    assert isinstance(step, Pass)
    return step


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def judge_steps(record: dict[str, Any]) -> list[Verdict]:
    """One verdict for each step of Triton's pipeline."""
    parsed: dict[int, ModuleOp] = {}
    canonical: dict[int, str] = {}
    known: dict[tuple[str, str, int, int], Verdict] = {}

    def module(index: int) -> ModuleOp:
        if index not in parsed:
            parsed[index] = parse_module(record["texts"][index])
        return parsed[index]

    verdicts: list[Verdict] = []
    for number, step in enumerate(record["steps"]):
        name = flag_of(step)
        key = (name, str(step["args"]), step["before"], step["after"])
        if key not in known:
            known[key] = _judge(number, name, step, module, canonical)
        found = known[key]
        verdicts.append(Verdict(number, name, found.outcome, found.detail))
    return verdicts


def judge_step(record: dict[str, Any], number: int) -> Verdict:
    """The verdict for one step."""
    step = record["steps"][number]
    return _judge(number, flag_of(step), step, lambda index: parse_module(record["texts"][index]), {})


def _judge(
    number: int, name: str, step: dict[str, Any], module: Callable[[int], ModuleOp], canonical: dict[int, str]
) -> Verdict:
    after = step["after"]
    try:
        answer = our_pass(name, step["args"])
        if answer is None:
            return Verdict(number, name, "absent")
        ours = module(step["before"]).clone()
        answer.apply(make_context(), ours)
        if after not in canonical:
            canonical[after] = canonical_text(module(after))
        outcome = "equal" if canonical_text(ours) == canonical[after] else "differs"
        return Verdict(number, name, outcome)
    except Exception as error:
        return Verdict(number, name, "fails", f"{type(error).__name__}: {str(error)[:300]}")


def texts_of_step(record: dict[str, Any], number: int) -> tuple[str, str, str]:
    """The IR before a step, after Triton's pass, and after ours."""
    step = record["steps"][number]
    before = parse_module(record["texts"][step["before"]])
    ours = before.clone()
    answer = our_pass(flag_of(step), step["args"])
    if answer is not None:
        answer.apply(make_context(), ours)
    return canonical_text(before), canonical_text(parse_module(record["texts"][step["after"]])), canonical_text(ours)


def judge_stages(case: Any, record: dict[str, Any]) -> list[Verdict]:
    """How our frontend's TTIR, and the TTIR and TTGIR at the end of our pipeline's stages, compare with Triton's."""
    verdicts: list[Verdict] = []
    for name, theirs, ours in stage_texts(case, record):
        if isinstance(ours, Exception):
            verdicts.append(Verdict(-1, name, "fails", f"{type(ours).__name__}: {str(ours)[:300]}"))
        else:
            outcome = "equal" if ours == settled_text(parse_module(theirs), name) else "differs"
            verdicts.append(Verdict(-1, name, outcome))
    return verdicts


def settled_text(module: ModuleOp, stage: str) -> str:
    """The canonical text of a stage's module with its constants in one order; changes `module`."""
    if stage == "frontend":
        _drop_what_says_nothing(module)
    for function in [op for op in module.walk() if isinstance(op, FuncOp) and op.regions[0].blocks]:
        constants = [op for op in function.walk() if isinstance(op, ConstantOp)]
        entry = function.regions[0].blocks[0]
        kept: dict[str, ConstantOp] = {}
        for op in sorted(constants, key=_constant_text):
            first = kept.setdefault(_constant_text(op), op)
            op.detach()
            if first is op:
                entry.insert_ops_before([op], entry.first_op) if entry.first_op else entry.add_op(op)
            else:
                op.results[0].replace_all_uses_with(first.results[0])
    return (
        canonical_text(module)
        .replace("@minitriton.language.", "@triton.language.")
        .replace('@"minitriton.language.', '@"triton.language.')
    )


def _drop_what_says_nothing(module: ModuleOp) -> None:
    """Takes away what one frontend emits and the other does not, and no pass would keep."""
    for op in list(module.walk()):
        for region in op.regions:
            erase_unreachable_blocks(region)
            _join_blocks(region)
        if op.name == "arith.bitcast" and op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
        if op.name == "scf.if" and not op.results and [o.name for o in op.regions[1].walk()] == ["scf.yield"]:
            op.regions[1].detach_block(0)
    Cse().apply(make_context(), module)
    erase_dead_ops(module)


def _join_blocks(region: Region) -> None:
    """Puts every block that one unconditional jump reaches behind that jump's block."""
    for block in list(region.blocks)[1:]:
        before = list(block.predecessors())
        jump = before[0].last_op if len(before) == 1 else None
        if jump is not None and jump.name == "cf.br":
            for argument, value in zip(block.args, jump.operands, strict=True):
                argument.replace_all_uses_with(value)
            before[0].erase_op(jump)
            for op in list(block.ops):
                op.detach()
                before[0].add_op(op)
            region.detach_block(block)


def _constant_text(op: Operation) -> str:
    return str(op.properties["value"])


def stage_texts(case: Any, record: dict[str, Any]) -> list[tuple[str, str, str | Exception]]:
    """Name of the stage, Triton's text, and ours (or what ours raised)."""
    from minitriton.pipeline.ast_source import ASTSource
    from minitriton.pipeline.pipelines import as_in_triton, ttgir_passes, ttir_passes
    from minitriton.target import CUDAOptions, GPUTarget

    target = GPUTarget("cuda", case.ARCH, 32)
    found: list[tuple[str, str, str | Exception]] = []
    module: ModuleOp | None = None
    context = make_context()
    texts, steps = record["texts"], record["steps"]
    last = {stage: [s for s in steps if s["stage"] == stage][-1]["after"] for stage in ("ttir", "ttgir")}
    for name, theirs in (("frontend", texts[0]), ("ttir", texts[last["ttir"]]), ("ttgir", texts[last["ttgir"]])):
        try:
            options = CUDAOptions.for_target(target, **case.OPTIONS)
            if module is None:
                source = ASTSource(case.KERNEL, case.SIGNATURE, case.CONSTANTS, case.ATTRS)
                module = source.make_ir(target, options, context)
            else:
                passes = ttir_passes(target) if name == "ttir" else ttgir_passes(target, options)
                PassManager(as_in_triton(Pipeline.parse(",".join(passes)))).run(context, module)
            found.append((name, theirs, settled_text(module.clone(), name)))
        except Exception as error:
            found.append((name, theirs, error))
            break
    return found


def difference(theirs: str, ours: str) -> str:
    """What is Triton's only (-) and what is ours only (+)."""
    lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "Triton", "minitriton", lineterm="", n=2)
    return "\n".join(lines)


def load_case(path: Path) -> Any:
    """A harvested kernel's file, loaded with `import triton` meaning minitriton."""
    from triton_steps import load_kernel

    return load_kernel(path, "minitriton")
