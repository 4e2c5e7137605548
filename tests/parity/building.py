"""Compiles a parity case under either compiler without a GPU, and runs PTX of it on the emulator."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context

import minitriton
from minitriton import emulator
from minitriton.compiler import ASTSource
from minitriton.dialects.text import parse_module, print_module
from minitriton.passes.asynchronous.hold_wgmma_registers import HoldWgmmaRegisters
from minitriton.runtime.launching.arguments import specialize
from minitriton.target import GPUTarget
from minitriton_kernels.cases import Case, load_kernels

ARCH = 90


def source_parts(case: Case) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int, ...], Any]]:
    """Signature, constexprs and attributes that a launch of `case` on aligned arrays has."""
    names = getattr(load_kernels(case.file, "minitriton"), case.kernel).arg_names
    signature = dict.fromkeys(names, "constexpr")
    constexprs = dict(case.constexprs)
    attrs: dict[tuple[int, ...], Any] = {}
    for index, (name, value) in enumerate(zip(names, case.inputs(np.random.default_rng(0)), strict=False)):
        kind, key = specialize(value, False, True, True)
        signature[name] = kind
        if kind == "constexpr":
            constexprs[name] = value
        elif key == "D" or kind.startswith("*"):
            attrs[(index,)] = [["tt.divisibility", 16]]
    return signature, constexprs, attrs


@functools.cache
def _compiled(case_name: str, file: str, kernel: str, compiler: str, arch: int) -> Any:
    from parity_cases import ALL_CASES

    case = next(c for c in ALL_CASES if (c.name, c.file) == (case_name, file))
    function = getattr(load_kernels(file, compiler), kernel)
    options = case.launch_options
    if compiler == "minitriton":
        return minitriton.compile(ASTSource(function, *source_parts(case)), GPUTarget("cuda", arch), options)
    import triton
    from triton.backends.compiler import GPUTarget as TritonTarget
    from triton.compiler import ASTSource as TritonSource

    return triton.compile(
        TritonSource(function, *source_parts(case)), target=TritonTarget("cuda", arch, 32), options=options
    )


def compiled(case: Case, compiler: str, arch: int = ARCH) -> Any:
    """`case` compiled by "minitriton" or "triton"; once a process."""
    return _compiled(case.name, case.file, case.kernel, compiler, arch)


def triton_backend(arch: int) -> Any:
    """Triton's backend for one stage by itself: LLVM's targets, which its first whole compile sets up, are ready."""
    from triton._C.libtriton import llvm
    from triton.backends.compiler import GPUTarget as TritonTarget
    from triton.compiler import make_backend

    llvm.init_targets()
    return make_backend(TritonTarget("cuda", arch, 32))


def _with_registers_held(text: str) -> str:
    """TTGIR whose products have been waited for before their registers are written again: behind TTGIR here, not at all in Triton."""
    module = parse_module(text)
    before = print_module(module, locations=True)
    HoldWgmmaRegisters().apply(Context(), module)
    after = print_module(module, locations=True)
    return text if after == before else after


def triton_continues(case: Case, stage: str, text: str, folder: Path) -> str:
    """PTX that Triton makes from a stage of ours (`ttir`, `ttgir`, `llir`); of `ptx`, what its assembler took."""
    import triton
    from triton.backends.compiler import GPUTarget as TritonTarget

    target, options = TritonTarget("cuda", ARCH, 32), case.launch_options
    if stage in ("ttir", "ttgir"):
        path = folder / f"k.{stage}"
        path.write_text(_with_registers_held(text) if stage == "ttgir" else text)
        return triton.compile(str(path), target=target, options=options).asm["ptx"]
    backend = triton_backend(ARCH)
    parsed, metadata = backend.parse_options(options), {"name": case.kernel}
    ptx = backend.make_ptx(text, metadata, parsed, ARCH) if stage == "llir" else text
    assert backend.make_cubin(ptx, metadata, parsed, ARCH)[:4] == b"\x7fELF"
    return ptx


def we_continue(case: Case, stage: str, text: str, folder: Path) -> str:
    """PTX that we make from a stage of Triton's; the machine code is assembled too, once where several stages come to the same instructions."""
    path = folder / f"k.{stage}"
    path.write_text(text)
    kernel = minitriton.compile(str(path), GPUTarget("cuda", ARCH), case.launch_options, assemble=False)
    ptx = kernel.asm["ptx"]
    if (made := _digest(ptx)) not in _assembled:
        assert kernel.asm["cubin"][:4] == b"\x7fELF"
        _assembled.add(made)
    return ptx


_assembled: set[bytes] = set()
"""Digests of PTX that the assembler took."""


def _digest(ptx: str) -> bytes:
    """Of its instructions, without what names places in the source, remarks and empty lines."""
    lines = (line.partition("//")[0].strip() for line in ptx.partition("\t.section")[0].splitlines())
    kept = [line for line in lines if line and not line.startswith((".loc", ".file", "$L__tmp", "$L__func"))]
    return hashlib.sha256("\n".join(kept).encode()).digest()


def emulate(case: Case, ptx: str, shared: int) -> dict[int, np.ndarray]:
    """Outputs by position of `case` run on the emulator, not to be written to; anything that it reports fails. Several stages, and
    several tests, come to the same instructions: these run once a process."""
    key = (case.name, case.file, shared, _digest(ptx))
    if key not in _emulated:
        _emulated[key] = _emulate(case, ptx, shared)
    return _emulated[key]


_emulated: dict[tuple[str, str, int, bytes], dict[int, np.ndarray]] = {}
"""What came out, by case, bytes of shared memory and digest of the instructions."""


def _emulate(case: Case, ptx: str, shared: int) -> dict[int, np.ndarray]:
    arguments = case.inputs(np.random.default_rng(0))
    outputs = case.expected(*case.inputs(np.random.default_rng(0)))
    runtime = [a for a in arguments if not (isinstance(a, int) and a == 1)]
    grid = (case.grid[0] * case.num_ctas, *case.grid[1:])
    report = emulator.run(ptx, case.kernel, grid, runtime, shared, scratch=1 << 20)
    assert report.ok, "\n".join(map(str, report.findings))
    return {position: arguments[position] for position in outputs}


def check(case: Case, found: dict[int, np.ndarray], wanted: dict[int, np.ndarray], exact: bool) -> None:
    """`found` equals `wanted`: bit for bit, or within the case's tolerance."""
    for position, value in wanted.items():
        if exact:
            np.testing.assert_array_equal(found[position], value, err_msg=f"argument {position}")
        else:
            np.testing.assert_allclose(
                found[position], value, rtol=case.tolerance, atol=case.tolerance, err_msg=f"argument {position}"
            )


def expected(case: Case, seed: int = 0) -> dict[int, np.ndarray]:
    """What NumPy gives."""
    return case.expected(*case.inputs(np.random.default_rng(seed)))
