"""LLVM IR text taken to PTX without a pipeline."""

from __future__ import annotations

from minitriton.codegen import llvm_session, ptx
from minitriton.target import CUDAOptions, GPUTarget


def optimized_llvm_ir(text: str, target: GPUTarget, options: CUDAOptions) -> str:
    """Text that is known to be good, after LLVM's own passes."""
    with llvm_session.LOCK:
        machine = ptx.machine_for(target, options)
        module = ptx.parse_llvm_ir(text, machine)
        ptx.optimize(module, machine)
        return str(module)


def emitted_ptx(optimized: str, target: GPUTarget, options: CUDAOptions) -> str:
    """The PTX of text that is optimised already."""
    with llvm_session.LOCK:
        return ptx.emit(optimized, ptx.machine_for(target, options), fp_fusion=options.enable_fp_fusion)


def compiled_ptx(text: str, target: GPUTarget, options: CUDAOptions) -> str:
    """Optimised and emitted."""
    return emitted_ptx(optimized_llvm_ir(text, target, options), target, options)
