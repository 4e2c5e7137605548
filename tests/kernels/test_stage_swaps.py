"""Triton compiles on from every stage of ours, and we from every stage of Triton's, down to machine code. No GPU needed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case, load_kernels

import minitriton
from minitriton.compiler import ASTSource
from minitriton.runtime.arguments import specialize
from minitriton.target import GPUTarget

pytestmark = pytest.mark.oracle
triton = pytest.importorskip("triton")

from triton.backends.compiler import GPUTarget as TritonTarget
from triton.compiler import ASTSource as TritonSource
from triton.compiler import make_backend

every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
every_stage = pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])


def source_arguments(case: Case) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int, ...], Any]]:
    arguments = case.inputs(np.random.default_rng(0))
    names = getattr(load_kernels(case.file, "minitriton"), case.kernel).arg_names
    signature = dict.fromkeys(names, "constexpr")
    attrs: dict[tuple[int, ...], Any] = {}
    for index, (name, value) in enumerate(zip(names, arguments, strict=False)):
        kind, key = specialize(value, False, True, True)
        signature[name] = kind
        if key == "D" or kind.startswith("*"):
            attrs[(index,)] = [["tt.divisibility", 16]]
    return signature, dict(case.constexprs), attrs


def compiled_by_us(case: Case) -> Any:
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    return minitriton.compile(
        ASTSource(kernel, *source_arguments(case)), GPUTarget("cuda", 90), {"num_warps": case.num_warps}
    )


def compiled_by_triton(case: Case) -> Any:
    kernel = getattr(load_kernels(case.file, "triton"), case.kernel)
    return triton.compile(
        TritonSource(kernel, *source_arguments(case)),
        target=TritonTarget("cuda", 90, 32),
        options={"num_warps": case.num_warps},
    )


@every_stage
@every_case
def test_triton_compiles_on_from_our_stage(case: Case, stage: str, tmp_path: Path) -> None:
    text = compiled_by_us(case).asm[stage]
    target = TritonTarget("cuda", 90, 32)
    if stage in ("ttir", "ttgir"):
        path = tmp_path / f"k.{stage}"
        path.write_text(text)
        cubin = triton.compile(str(path), target=target, options={"num_warps": case.num_warps}).asm["cubin"]
    else:
        backend = make_backend(target)
        options, metadata = backend.parse_options({"num_warps": case.num_warps}), {"name": case.kernel}
        ptx = backend.make_ptx(text, metadata, options, 90) if stage == "llir" else text
        cubin = backend.make_cubin(ptx, metadata, options, 90)
    assert cubin[:4] == b"\x7fELF"
    assert case.kernel.encode() in cubin


@every_stage
@every_case
def test_we_compile_on_from_triton_s_stage(case: Case, stage: str, tmp_path: Path) -> None:
    path = tmp_path / f"k.{stage}"
    path.write_text(compiled_by_triton(case).asm[stage])
    kernel = minitriton.compile(str(path), GPUTarget("cuda", 90), {"num_warps": case.num_warps})
    assert f".entry {case.kernel}" in kernel.asm["ptx"]
    assert kernel.name == case.kernel
