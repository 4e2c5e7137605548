"""Runs an example case on the GPU under either compiler, whole or with the stages of the two swapped."""

from pathlib import Path
from typing import Any

import numpy as np
from building import triton_backend

import minitriton
from minitriton.compiler import CompiledKernel
from minitriton_kernels.cases import Case, load_kernels


def device_arguments(case: Case, host: list[Any]) -> list[Any]:
    """`host` with its arrays as CUDA tensors."""
    import torch

    return [torch.from_numpy(a.copy()).cuda() if isinstance(a, np.ndarray) else a for a in host]


def outputs(case: Case, host: list[Any], arguments: list[Any]) -> dict[int, np.ndarray]:
    """The output arrays of a finished launch, by position."""
    return {i: arguments[i].cpu().numpy() for i in case.expected(*host)}


WITHOUT_TENSOR_MAPS = {"describe_tiles": False}
"""An option of minitriton, for kernels that others launch: they do not know that a launch makes tensor maps of pointers."""


def run_with(case: Case, compiler: str, host: list[Any], **options: object) -> tuple[dict[int, np.ndarray], Any]:
    """Launches `case` under `compiler`; returns its outputs and the compiled kernel."""
    arguments = device_arguments(case, host)
    kernel = getattr(load_kernels(case.file, compiler), case.kernel)
    compiled = kernel[case.grid](*arguments, **case.constexprs, **case.launch_options, **options)
    return outputs(case, host, arguments), compiled


def run_compiled(case: Case, kernel: Any, host: list[Any]) -> dict[int, np.ndarray]:
    """Launches an already compiled kernel (of either compiler) on `case`'s runtime arguments."""
    arguments = device_arguments(case, host)
    runtime = [a for a in arguments if not (isinstance(a, int) and a == 1)]
    grid = (*case.grid, 1, 1)[:3]
    kernel[grid](*runtime)
    return outputs(case, host, arguments)


def write_stage(folder: Path, case: Case, kernel: Any, stage: str) -> Path:
    """Writes `kernel.asm[stage]` to a file that either compiler takes as a source, its metadata beside it."""
    import json

    path = folder / f"{case.name}.{stage}"
    path.write_text(kernel.asm[stage])
    path.with_suffix(".json").write_text(json.dumps({"shared": kernel.metadata.shared}))
    return path


def ours_from(path: Path, case: Case) -> CompiledKernel:
    """Our compiler continues from a stage of Triton's."""
    return minitriton.compile(str(path), options=case.launch_options)


def triton_from(path: Path, case: Case, ours: CompiledKernel) -> Any:
    """Triton continues from a stage of ours. LLVM IR and PTX, which its `compile` does not take as sources, go through
    its backend's own stage functions; the result is launched with our kernel's metadata."""
    import triton
    from triton.backends.compiler import GPUTarget

    target = GPUTarget("cuda", ours.metadata.target.arch, 32)
    stage = path.suffix[1:]
    if stage in ("ttir", "ttgir"):
        return triton.compile(str(path), target=target, options=case.launch_options)
    backend = triton_backend(target.arch)
    options = backend.parse_options(case.launch_options)
    metadata: dict[str, Any] = {"name": ours.name}
    text: Any = path.read_text()
    if stage == "llir":
        text = backend.make_ptx(text, metadata, options, target.arch)
    cubin = backend.make_cubin(text, metadata, options, target.arch)
    texts = {"ptx": text, "cubin": cubin}
    return CompiledKernel(ours.src, texts, ours.metadata._asdict(), ours.hash + stage, {})
