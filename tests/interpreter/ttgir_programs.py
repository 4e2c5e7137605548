"""Modules at the TTGIR level for the tests of the interpreter: from our pipeline, and from Triton's."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects.context import make_context
from minitriton.interpreter import interpret
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import ttgir_passes, ttir_passes
from minitriton.target import CUDAOptions, GPUTarget
from minitriton_kernels.cases import Case, load_kernels

HOPPER = GPUTarget("cuda", 90, 32)

POINTERS = {"float16": "*fp16", "float32": "*fp32", "int32": "*i32"}


def signature_of(names: list[str], args: list[Any], constants: dict[str, Any]) -> dict[str, str]:
    """The type of each parameter of a kernel that is called with `args`."""
    given = iter(args)
    return {name: "constexpr" if name in constants else type_of(next(given)) for name in names}


def type_of(arg: Any) -> str:
    """The name of an argument's type."""
    if isinstance(arg, np.ndarray):
        return POINTERS[arg.dtype.name]
    return "fp32" if isinstance(arg, float) else "i32"


def our_passes(num_warps: int) -> list[str]:
    """The passes up to the end of the TTGIR level."""
    return ttir_passes(HOPPER) + ttgir_passes(HOPPER, CUDAOptions.for_target(HOPPER, num_warps=num_warps))


def our_module(case: Case, args: list[Any], hooks: list[Any] | None = None) -> ModuleOp:
    """The kernel of `case` after our TTGIR passes; `hooks` see every pass."""
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    source = ASTSource(kernel, signature_of(kernel.arg_names, args, case.constexprs), dict(case.constexprs))
    context = make_context()
    module = source.make_ir(HOPPER, CUDAOptions.for_target(HOPPER, num_warps=case.num_warps), context)
    return PassManager(Pipeline.parse(",".join(our_passes(case.num_warps))), hooks or []).run(context, module)


def place_memory_and_barriers(module: ModuleOp) -> ModuleOp:
    """`module` with offsets for its buffers and with the barriers that it needs."""
    allocation = allocate(module, triton_scratch_bytes)
    write_attributes(module, allocation)
    insert_barriers(module, allocation)
    return module


def assert_case_right(case: Case, module: ModuleOp, args: list[Any], **options: Any) -> None:
    """Interpret the kernel of `case` in `module` and compare with NumPy."""
    args = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    expected = case.expected(*[arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args])
    interpret(module, case.kernel, args, case.grid, **options)
    for position, answer in expected.items():
        np.testing.assert_allclose(
            args[position].astype(np.float64), answer.astype(np.float64), rtol=case.tolerance, atol=case.tolerance
        )
