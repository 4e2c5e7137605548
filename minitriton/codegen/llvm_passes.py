"""LLVM's own passes one by one, by the names that `opt` knows them by.

optimize-llvm-ir{passes=sroa,instcombine,simplifycfg,gvn,adce}

What a kernel needs to be lowered at all (functions inlined that came from a device library, declarations dropped that nothing
uses) runs before and after those that are named.
"""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from minitriton.errors import PipelineError, did_you_mean

LLVM_PASSES = {
    "adce": "aggressive_dce",
    "aggressive-instcombine": "aggressive_instcombine",
    "dce": "dead_code_elimination",
    "dse": "dead_store_elimination",
    "gvn": "new_gvn",
    "instcombine": "instruction_combine",
    "ipsccp": "ipsccp",
    "jump-threading": "jump_threading",
    "lcssa": "lcssa",
    "loop-deletion": "loop_deletion",
    "loop-rotate": "loop_rotate",
    "loop-simplify": "loop_simplify",
    "loop-strength-reduce": "loop_strength_reduce",
    "loop-unroll": "loop_unroll",
    "memcpyopt": "mem_copy_opt",
    "mergefunc": "merge_functions",
    "reassociate": "reassociate",
    "sccp": "sccp",
    "simplifycfg": "simplify_cfg",
    "sink": "sinking",
    "sroa": "sroa",
}
"""By `opt`'s name, what llvmlite's pass manager calls it in `add_..._pass`. Its `gvn` is LLVM's newer one."""


def check_llvm_passes(names: Sequence[str]) -> None:
    """Raises `PipelineError` for a name that is none of LLVM's passes."""
    for name in names:
        if name not in LLVM_PASSES:
            hint = f"{did_you_mean(name, LLVM_PASSES)} its passes: {', '.join(LLVM_PASSES)}".lstrip()
            raise PipelineError(f"LLVM lacks the pass {name!r} here", help=hint)


def chosen_passes(names: Sequence[str]) -> llvm.ModulePassManager:
    """A manager that runs the passes `names`."""
    check_llvm_passes(names)
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    for name in names:
        getattr(manager, f"add_{LLVM_PASSES[name]}_pass")()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_strip_dead_prototype_pass()
    return manager
