"""Kernels for AMD's GPUs: what their lowered modules compute, the text of each stage, the code object and its parts."""

import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.amd.code_object import ElfFile, kernels_of, link
from minitriton.codegen.amd.device_library import find_ocml
from minitriton.commands.cli import main
from minitriton.dialects.text import parse_module, print_module
from minitriton.emulator import amdgcn
from minitriton.errors import MinitritonError
from minitriton.explorer.recording import record
from minitriton.interpreter.launch import interpret
from minitriton.language.extra import libdevice
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import Hook
from minitriton.pipeline.pass_registry import Step
from minitriton.target import GPUTarget, options_for

GFX942 = GPUTarget("hip", "gfx942", 64)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + i, e / tl.sum(e, 0), i < n)


@triton.jit
def total(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sqrt(tl.sum(tl.load(x + tl.arange(0, BLOCK)), 0)))


@triton.jit
def layer_norm(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    d = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
    tl.store(out + i, d * tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5), i < n)


@triton.jit
def transpose(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + j * M + i, tl.load(x + i * N + j))


@triton.jit
def scan_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.cumsum(tl.load(x + i * N + j), 1))


@triton.jit
def multiply(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j)
    b = tl.load(x + 256 + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :])
    tl.store(out + i * M + tl.arange(0, M)[None, :], tl.dot(a, b, input_precision="ieee"))


@triton.jit
def matmul(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + i * K + start + k[None, :])
        right = tl.load(b + (start + k[:, None]) * N + j)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + i * N + j, total)


class Lowered(Hook):
    """Keeps the module of the `llvm` dialect."""

    def after(self, step: Step, value: Any) -> None:
        if step.name == "convert-triton-gpu-to-llvm":
            self.module = value.clone()


def test_lanes_share_the_partial_results_of_four_waves() -> None:
    """One word of LDS for each lane and two exchanges within four lanes, in place of four words for each."""
    made = triton.compile(ASTSource(softmax, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}), GFX942)
    text = made.asm["amdgcn"]
    assert text.count("ds_read_b32") == 2 and "ds_read_b128" not in text
    for control in ("quad_perm:[2,3,0,1]", "quad_perm:[1,0,3,2]"):
        assert re.search(rf"v_add_f32_dpp v\d+, v\d+, v\d+ {re.escape(control)}", text)


def test_one_thread_that_alone_stores_a_number_loads_its_partial_results_at_once() -> None:
    made = triton.compile(ASTSource(total, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 1024}), GFX942)
    assert made.asm["amdgcn"].count("ds_read_b128") == 1


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x[:1000] - x[:1000].max())
    return e / e.sum()


def _layer_norm(x: np.ndarray) -> np.ndarray:
    d = x[:1000] - x[:1000].mean()
    return d / np.sqrt((d * d).mean() + 1e-5)


@pytest.mark.parametrize(("arch", "num_warps"), [("gfx942", 1), ("gfx942", 4), ("gfx1100", 4), ("gfx1200", 2)])
@pytest.mark.parametrize(
    ("kernel", "constants", "expected"),
    [
        (softmax, {"BLOCK": 1024}, _softmax),
        (layer_norm, {"BLOCK": 1024}, _layer_norm),
        (transpose, {"M": 64, "N": 16}, lambda x: x[:1024].reshape(64, 16).T.ravel()),
        (scan_rows, {"M": 2, "N": 512}, lambda x: x[:1024].reshape(2, 512).cumsum(1).ravel()),
        (multiply, {"M": 16, "N": 16}, lambda x: (x[:256].reshape(16, 16) @ x[256:512].reshape(16, 16)).ravel()),
    ],
)
def test_lowered_kernels_compute_the_right_numbers(
    kernel: Any,
    constants: dict[str, int],
    expected: Callable[[np.ndarray], np.ndarray],
    arch: str,
    num_warps: int,
) -> None:
    has_n = "BLOCK" in constants
    source = ASTSource(kernel, {"x": "*fp32", "out": "*fp32"} | ({"n": "i32"} if has_n else {}), constants)
    made = triton.compile(source, GPUTarget("hip", arch), {"num_warps": num_warps})
    x = np.random.default_rng(0).integers(-4, 4, 1024).astype(np.float32)
    want = expected(x)
    out = np.zeros_like(want)
    made[(1,)](x, out, *([1000] if has_n else []))
    np.testing.assert_allclose(out, want, rtol=1e-5)


@pytest.mark.parametrize(
    ("arch", "element", "shape", "num_warps", "instruction"),
    [
        ("gfx942", "fp16", (64, 64, 32, 16), 4, "f32.32x32x8f16"),
        ("gfx942", "bf16", (32, 32, 32, 16), 1, "f32.32x32x8bf16.1k"),
        ("gfx942", "fp16", (16, 32, 32, 32), 2, "f32.16x16x16f16"),
        ("gfx942", "fp32", (32, 32, 16, 8), 4, "f32.32x32x2f32"),
        ("gfx942", "fp32", (16, 16, 8, 8), 1, "f32.16x16x4f32"),
        ("gfx942", "fp16", (4, 128, 128, 64), 4, "f32.4x4x4f16"),
        ("gfx942", "bf16", (64, 8, 64, 64), 2, "f32.4x4x4bf16.1k"),
        ("gfx950", "fp32", (128, 4, 32, 16), 1, "f32.4x4x1f32"),
        ("gfx950", "fp16", (32, 64, 32, 16), 2, "f32.32x32x16.f16"),
        ("gfx1100", "fp16", (32, 64, 32, 16), 4, "f32.16x16x16.f16"),
        ("gfx1100", "bf16", (16, 32, 32, 16), 1, "f32.16x16x16.bf16"),
        ("gfx1200", "fp16", (32, 64, 32, 32), 4, "f32.16x16x16.f16"),
        ("gfx1200", "bf16", (64, 16, 32, 16), 2, "f32.16x16x16.bf16"),
    ],
)
def test_dots_on_matrix_cores(
    arch: str, element: str, shape: tuple[int, int, int, int], num_warps: int, instruction: str
) -> None:
    M, N, K, BK = shape
    lowered = Lowered()
    signature = {"a": f"*{element}", "b": f"*{element}", "out": "*fp32"}
    source = ASTSource(matmul, signature, {"M": M, "N": N, "K": K, "BK": BK})
    kernel = triton.compile(source, GPUTarget("hip", arch), {"num_warps": num_warps}, hooks=[lowered])
    used = {op.instruction.data for op in lowered.module.walk() if op.name in ("rocdl.mfma", "rocdl.wmma")}
    assert used == {instruction}
    text = print_module(lowered.module)
    assert re.search(rf"rocdl.w?mf?ma.{re.escape(instruction)} %", text) and print_module(parse_module(text)) == text
    assert ("v_mfma_" if arch.startswith("gfx9") else "v_wmma_") in kernel.asm["amdgcn"]
    assert re.search(r"amdg.buffer_store .*#mma>", kernel.asm["ttgir"])
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, size).astype(np.float32) for size in ((M, K), (K, N)))
    out = np.zeros((M, N), np.float32)
    kernel[(1,)](*(_given(each, element) for each in (a, b)), out)
    np.testing.assert_array_equal(out, a @ b)


@triton.jit
def narrowed_matmul(a, b, out, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    total = tl.dot(tl.load(a + i * K + k[None, :]), tl.load(b + k[:, None] * N + j))
    tl.store(out + i * N + j, total.to(tl.float16))


@pytest.mark.parametrize(("rows", "num_warps", "swap"), [(32, 4, "v_permlane32_swap"), (16, 1, "v_permlane16_swap")])
def test_lanes_of_gfx950_swap_halves_for_wide_stores(rows: int, num_warps: int, swap: str) -> None:
    aligned = {(n,): [["tt.divisibility", 16], ["tt.pointer_range", 32]] for n in range(3)}
    source = ASTSource(narrowed_matmul, dict.fromkeys(("a", "b", "out"), "*fp16"), {"N": 64, "K": 32}, aligned)
    options = {"matrix_instr_nonkdim": rows, "num_warps": num_warps}
    kernel = triton.compile(source, GPUTarget("hip", "gfx950"), options)
    text = kernel.asm["amdgcn"]
    assert swap in text and "buffer_store_dwordx4" in text and "buffer_store_dwordx2" not in text
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 64)))
    out = np.zeros((64, 64), np.float16)
    kernel[(1,)](a, b, out)
    np.testing.assert_array_equal(out, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


def test_options_of_amd_reach_the_kernel() -> None:
    source = ASTSource(matmul, {"a": "*fp16", "b": "*fp16", "out": "*fp32"}, {"M": 32, "N": 64, "K": 64, "BK": 32})
    options = {"matrix_instr_nonkdim": 16, "kpack": 2, "waves_per_eu": 2, "allow_flush_denorm": True}
    kernel = triton.compile(source, GFX942, options)
    assert "instrShape = [16, 16, 16]" in kernel.asm["ttgir"]
    assert "kWidth = 8" in kernel.asm["ttgir"]
    for attribute in ('"amdgpu-waves-per-eu"="2, 2"', '"denormal-fp-math-f32"="preserve-sign"'):
        assert attribute in kernel.asm["llir"]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, size).astype(np.float16) for size in ((32, 64), (64, 64)))
    out = np.zeros((32, 64), np.float32)
    kernel[(1,)](a, b, out)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


def test_the_command_compiles_for_amd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compile", "bench_softmax", "--arch", "gfx942"]
    assert main(given) == 0
    assert "s_endpgm" in capsys.readouterr().out
    assert main([*given, "--emit", "hsaco", "-o", str(tmp_path / "k.hsaco")]) == 0
    assert ElfFile.read((tmp_path / "k.hsaco").read_bytes()).machine == 224
    assert main([*given, "--emit", "ptx"]) != 0
    assert "this compile lacks stage 'ptx'" in capsys.readouterr().err
    assert main(["compile", "bench_softmax", "--arch", "gfx43"]) != 0
    assert "known: 70, 75, 80, 86, 87, 89, 90, 100, 120, gfx90a, gfx942" in capsys.readouterr().err


def _given(values: np.ndarray, element: str) -> np.ndarray:
    """As it is in memory: a bf16 is the upper half of an f32."""
    if element == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"fp16": np.float16, "fp32": np.float32}[element])


def test_operands_of_matrix_cores_are_in_triton_s_buffers() -> None:
    """As Triton 3.6.0 writes it for a dot of 64x64 with k = 32: swizzled where k is contiguous, transposed in registers where it is not."""
    source = ASTSource(matmul, {"a": "*fp16", "b": "*fp16", "out": "*fp32"}, {"M": 64, "N": 64, "K": 64, "BK": 32})
    text = triton.compile(source, GFX942).asm["ttgir"]
    assert "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>" in text
    assert "#ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>" in text
    assert "#ttg.amd_rotating_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [0, 1]}>" in text


@triton.jit
def read_bytes(x, out, KIND: tl.constexpr):
    i = tl.arange(0, 256)
    tl.store(out + i, tl.load(x + i).to(KIND, bitcast=True).to(tl.float32))


@triton.jit
def write_bytes(x, out, KIND: tl.constexpr):
    i = tl.arange(0, 1024)
    tl.store(out + i, tl.load(x + i).to(KIND).to(tl.uint8, bitcast=True))


def _values(mantissa: int, bias: int, fnuz: bool) -> np.ndarray:
    """What each byte is, by the definition of the format."""
    byte = np.arange(256)
    exponent, fraction = (byte & 127) >> mantissa, byte & (1 << mantissa) - 1
    normal = np.ldexp(1 + fraction / 2.0**mantissa, exponent - bias)
    values = np.where(exponent == 0, np.ldexp(fraction / 2.0**mantissa, 1 - bias), normal)
    if fnuz:
        return np.where(byte == 128, np.nan, np.where(byte & 128, -values, values)).astype(np.float32)
    if mantissa == 2:
        values = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), values)
    else:
        values = np.where(byte & 127 == 127, np.nan, values)
    return np.where(byte & 128, -values, values).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "mantissa", "bias"),
    [(tl.float8e4nv, 3, 7), (tl.float8e5, 2, 15), (tl.float8e4b8, 3, 8), (tl.float8e5b16, 2, 16)],
)
def test_conversions_of_8_bit_floats(kind: Any, mantissa: int, bias: int) -> None:
    """Every byte is read; numbers of every size, and those in the middle of two, are written."""
    fnuz = bias in (8, 16)
    values = _values(mantissa, bias, fnuz)
    reads = triton.compile(ASTSource(read_bytes, {"x": "*u8", "out": "*fp32"}, {"KIND": kind}), GFX942)
    out = np.zeros(256, np.float32)
    reads[(1,)](np.arange(256, dtype=np.uint8), out)
    np.testing.assert_array_equal(out, values)
    finite = np.sort(values[:128][np.isfinite(values[:128])])
    middle = (finite[1:] + finite[:-1]) / 2
    above, below = np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(0))
    x = np.concatenate([finite, middle, above, below, [finite[-1] * 4, np.inf, np.nan]]).astype(np.float32)
    x = np.concatenate([x, -x])[:1024]
    given = np.pad(x, (0, 1024 - len(x)))
    writes = triton.compile(ASTSource(write_bytes, {"x": "*fp32", "out": "*u8"}, {"KIND": kind}), GFX942)
    got = np.zeros(1024, np.uint8)
    writes[(1,)](given, got)
    steps = np.searchsorted(finite, np.abs(x), side="left").clip(0, len(finite) - 1)
    lower = np.where(finite[steps] == np.abs(x), steps, np.maximum(steps - 1, 0))
    to_lower, to_upper = np.abs(x) - finite[lower], finite[steps] - np.abs(x)
    nearest = np.where((to_lower < to_upper) | ((to_lower == to_upper) & (lower % 2 == 0)), lower, steps)
    too_large = np.abs(x) > finite[-1]
    expected = np.where(too_large, 0x7C if kind == tl.float8e5 else len(finite) - 1, nearest)
    expected = np.where(np.isnan(x) | (fnuz & np.isinf(x)), 128 if fnuz else 127, expected)
    has_sign = np.signbit(x) & ~(fnuz & (expected == 0))
    np.testing.assert_array_equal(got[: len(x)], expected | np.where(has_sign, 128, 0))


@cache
def added(arch: str = "gfx942") -> Any:
    source = ASTSource(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024})
    return triton.compile(source, GPUTarget("hip", arch))


def test_the_stages_and_triton_s_attributes() -> None:
    kernel = added()
    assert set(kernel.asm) >= {"ttir", "ttgir", "llir"}
    assert 'ttg.target = "hip:gfx942"' in kernel.asm["ttgir"]
    assert "threadsPerWarp = [64]" in kernel.asm["ttgir"]
    llir = kernel.asm["llir"]
    assert re.search(r"define amdgpu_kernel void @add\(ptr addrspace\(1\) inreg", llir)
    for attribute in (
        '"amdgpu-flat-work-group-size"="1,256"', '"amdgpu-waves-per-eu"="0, 0"', '"denormal-fp-math-f32"="ieee"',
        '"uniform-work-group-size"="true"', '!"amdhsa_code_object_version", i32 500',
    ):  # fmt: skip
        assert attribute in llir
    text = kernel.asm["amdgcn"]
    assert '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"' in text
    assert text.count("buffer_load_dword ") == 8
    assert text.count("buffer_store_dword ") == 4
    assert ".amdhsa_kernel add" in text


@pytest.mark.parametrize(("arch", "lanes"), [("gfx90a", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1200", 32)])
def test_other_gpus_of_amd_compile(arch: str, lanes: int) -> None:
    text = added(arch).asm["amdgcn"]
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{arch}"' in text
    assert f".wavefront_size: {lanes}" in text


def test_assembly_and_code_object_are_made_when_asked_for_and_then_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))

    def compiled() -> Any:
        source = ASTSource(softmax, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024})
        return triton.compile(source, GFX942)

    kernel = compiled()
    assert list(kernel.asm) == list(compiled().asm) == ["ttir", "ttgir", "llir"]
    assert "amdgcn" in kernel.asm and "ptx" not in kernel.asm and kernel.asm.get("ptx") is None
    assert kernel.asm.get("amdgcn") == kernel.asm["amdgcn"]
    text, code = kernel.asm["amdgcn"], kernel.asm["hsaco"]
    cached = compiled()
    assert list(cached.asm) == ["ttir", "ttgir", "llir", "amdgcn", "hsaco"]
    assert (cached.asm["amdgcn"], cached.asm["hsaco"]) == (text, code)
    # Both are of the same code.
    entry = kernels_of(code)["softmax"]
    for name in ("vgpr_count", "sgpr_count", "vgpr_spill_count", "group_segment_fixed_size", "kernarg_segment_size"):
        assert re.search(rf"\.{name}:\s+{entry['.' + name]}\b", text), name
    (size,) = [symbol.size for symbol in ElfFile.read(code).dynamic_symbols() if symbol.name == "softmax"]
    count = len(re.findall(r"^\t[sv]_\w+|^\t(?:ds|buffer|global)_\w+", text, re.MULTILINE))
    assert 4 * count <= size <= 8 * count + 256
    dumped = tmp_path / "dump"
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_DUMP_DIR", str(dumped))
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    compiled()
    assert [path.read_text() for path in dumped.rglob("softmax.amdgcn")] == [text]


def test_the_code_object_has_what_the_loader_reads() -> None:
    """Segments, symbols, the tables that `.dynamic` names, the descriptor's distance to the code, the metadata note."""
    data = added().asm["hsaco"]
    file = ElfFile.read(data)
    assert (file.type, file.machine, file.flags & 0xFF) == (3, 224, 0x4C)  # a shared object, AMDGPU, gfx942
    assert [segment[0] for segment in file.segments] == [6, 1, 1, 1, 2, 0x6474E551, 4]
    for kind, _, offset, address, _, size, _, alignment in file.segments:
        assert offset + size <= len(data)
        if kind == 1:
            assert offset % alignment == address % alignment
    symbols = {symbol.name: symbol for symbol in file.dynamic_symbols()}
    text, rodata = file.named(".text")[0], file.named(".rodata")[0]
    code, descriptor = symbols["add"], symbols["add.kd"]
    assert (code.info, code.value, code.value % 256) == (0x12, text.address, 0)
    assert (descriptor.info, descriptor.value, descriptor.size) == (0x11, rodata.address, 64)
    entry = int.from_bytes(rodata.data[16:24], "little", signed=True)
    assert descriptor.value + entry == code.value
    tables = file.named(".dynamic")[0].data
    found = {
        int.from_bytes(tables[n : n + 8], "little"): int.from_bytes(tables[n + 8 : n + 16], "little")
        for n in range(0, 80, 16)
    }
    names = {6: ".dynsym", 5: ".dynstr", 4: ".hash"}
    assert {tag: found[tag] for tag in names} == {tag: file.named(name)[0].address for tag, name in names.items()}
    assert found[10] == len(file.named(".dynstr")[0].data)
    note = file.named(".note")[0].data
    assert (int.from_bytes(note[8:12], "little"), note[12:19]) == (32, b"AMDGPU\0")
    assert b"add.kd" in note


@pytest.mark.oracle
def test_the_linker_agrees_with_lld(tmp_path: Path) -> None:
    """What a loader reads of a code object: symbols, descriptors, code, metadata, flags, how memory is protected."""
    amd = pytest.importorskip("triton._C.libtriton").amd
    relocatable, linked = tmp_path / "k.o", tmp_path / "k.hsaco"
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu="gfx942", opt=3, reloc="pic")
    module = llvm.parse_assembly(added().asm["llir"])
    relocatable.write_bytes(machine.emit_object(module))
    amd.link_hsaco(str(relocatable), str(linked))
    assert visible(link(relocatable.read_bytes())) == visible(linked.read_bytes())


def visible(data: bytes) -> dict[str, object]:
    file = ElfFile.read(data)
    sections, symbols = {s.name: s for s in file.sections}, file.dynamic_symbols()
    rodata, text = sections[".rodata"], sections[".text"]
    descriptors = {
        s.name: rodata.data[s.value - rodata.address :][:64] for s in symbols if file.sections[s.section] is rodata
    }
    entries = {
        s.name: s.value + int.from_bytes(descriptors[s.name][16:24], "little", signed=True)
        for s in symbols
        if s.name in descriptors
    }
    return {
        "kind": (file.type, file.machine, file.flags, file.identification),
        "symbols": sorted((s.name, s.info, s.other, file.sections[s.section].name, s.size) for s in symbols),
        "descriptors": {name: data[:16] + data[24:] for name, data in descriptors.items()},
        "entries": {name: entry - text.address for name, entry in entries.items()},
        "code": text.data,
        "metadata": sections[".note"].data,
        "protection": [segment[1] for segment in file.segments if segment[0] == 1],
    }


@triton.jit
def count(x, out):
    i = tl.arange(0, 512)
    tl.atomic_add(out + tl.load(x + i), 1)
    before = tl.atomic_cas(out + 16, 0, 7)
    tl.store(out + 17 + i, before + i)


def test_atomics_have_llvm_s_scopes_and_one_fence_for_many() -> None:
    text = triton.compile(ASTSource(count, {"x": "*i32", "out": "*i32"}, {}), GFX942, {"num_warps": 1})
    llir = text.asm["llir"]
    assert len(re.findall(r'atomicrmw add ptr addrspace\(1\) .* syncscope\("agent"\) monotonic', llir)) == 8
    assert len(re.findall(r'cmpxchg ptr addrspace\(1\) .* syncscope\("agent"\) acquire acquire', llir)) == 1
    assert len(re.findall(r'fence syncscope\("agent"\) release.*\n.*llvm.amdgcn.s.waitcnt\(i32 112\)', llir)) == 2
    assert "global_atomic_cmpswap" in text.asm["amdgcn"]


@triton.jit
def add_neighbours(x, totals, before, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(before + i, tl.atomic_add(totals + i, tl.load(x + i), mask=i < n))


@pytest.mark.parametrize(("divisor", "together"), [(16, 1), (1, 0)])
def test_two_neighbours_of_16_bits_are_added_by_one_instruction(divisor: int, together: int) -> None:
    n = 192 if divisor == 16 else 191
    attrs = {(position,): [["tt.divisibility", divisor]] for position in range(4)}
    signature = {"x": "*fp16", "totals": "*fp16", "before": "*fp16", "n": "i32", "BLOCK": "constexpr"}
    kernel = triton.compile(ASTSource(add_neighbours, signature, {"BLOCK": 256}, attrs), GFX942, {"num_warps": 1})
    assert bool(kernel.asm["amdgcn"].count("buffer_atomic_pk_add_f16")) == together
    x, totals = (np.random.default_rng(seed).integers(-20, 20, 256).astype(np.float16) for seed in (0, 1))
    added, before = totals.copy(), np.zeros(256, np.float16)
    report = amdgcn.run(kernel.asm["amdgcn"], None, (1,), [x, added, before, n], shared_bytes=kernel.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_array_equal(added, np.where(np.arange(256) < n, totals + x, totals))
    np.testing.assert_array_equal(before[:n], totals[:n])


@triton.jit
def assembled(x, out, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr):
    i = tl.arange(0, 256)
    v = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [v], v.dtype, True, PACK))


def with_assembly(
    text: str, constraints: str = "=v,v", element: str = "fp32", pack: int = 1, arch: str = "gfx942"
) -> Any:
    constants = {"TEXT": text, "CONSTRAINTS": constraints, "PACK": pack}
    source = ASTSource(assembled, {"x": f"*{element}", "out": f"*{element}"}, constants)
    return triton.compile(source, GPUTarget("hip", arch))


@pytest.mark.parametrize(
    ("text", "element", "pack", "arch", "wanted"),
    [
        ("v_mul_f32 $0, 2.0, $1", np.float32, 1, "gfx942", lambda x: 2 * x),
        ("v_add_f16 $0, 1.0, $1", np.float16, 1, "gfx1200", lambda x: x + 1),
        ("v_xor_b32 $0, -1, $1", np.int8, 4, "gfx1100", lambda x: ~x),
    ],
)
def test_inline_assembly_runs_on_the_emulator(text: str, element: Any, pack: int, arch: str, wanted: Any) -> None:
    name = {np.float32: "fp32", np.float16: "fp16", np.int8: "i8"}[element]
    x, out = np.arange(256).astype(element), np.zeros(256, element)
    with_assembly(text, element=name, pack=pack, arch=arch)[(1,)](x, out)
    np.testing.assert_array_equal(out, wanted(x))


def test_what_llvm_cannot_do_with_inline_assembly_is_an_error_at_the_kernel_s_line() -> None:
    line = rf"test_amd.py:{inspect.getsourcelines(assembled.fn)[1] + 4}:\d+.*"
    with pytest.raises(MinitritonError, match=line + "no code object: LLVM's assembler"):
        with_assembly("v_mov_b32 $0, $1").asm["hsaco"]
    for text, constraints, what in (
        ("v_mov_b32 $0, $2", "=v,v", r"names operand \$2, but there are 2 operands"),
        ("v_mov_b32 $0, $1", "=q,v", "'=q' in '=q,v' is not a constraint of inline AMDGCN"),
        ("v_mov_b32 $0, $1", "={v300},v", "couldn't allocate output register"),
    ):
        with pytest.raises(MinitritonError, match=f"(?s){line}{what}"):
            with_assembly(text, constraints)
    with pytest.raises(MinitritonError, match=line + "elements of 8 bits"):
        with_assembly("v_mov_b32 $0, $1", element="i8")
    with pytest.raises(MinitritonError, match="not an ELF file"):
        ElfFile.read(b"")


def test_a_launch_on_arrays_runs_on_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx942")
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    kernel = add[(4,)](x, x, out, 1000, BLOCK=256)
    assert kernel.metadata.target == GFX942
    np.testing.assert_array_equal(out, x + x)
    assert kernel.last_report.mix()["buffer_load_dword"] == 32
    assert kernel.last_report.mix(in_ptx=True)["ld.global"] == 32
    with pytest.raises(RuntimeError, match=r"out-of-bounds: .*`x`"):
        add[(4,)](x[:999].copy(), x, out, 1000, BLOCK=256)
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx1100")
    out[:] = 0
    assert add[(4,)](x, x, out, 1000, BLOCK=256).last_report.mix()["buffer_load_b32"] == 64
    np.testing.assert_array_equal(out, x + x)
    with pytest.raises(MinitritonError, match="gfx1250 is not emulated"):
        monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx1250")
        add[(4,)](x, x, out, 1000, BLOCK=256)


@pytest.mark.parametrize("command", ["run", "check", "diff"])
def test_the_tools_run_amd_s_kernels(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--skip", "tritongpu-coalesce"] if command == "diff" else []
    assert main([command, "bench_softmax", "--arch", "gfx942", *more]) == 0
    shown = capsys.readouterr().out
    assert {"run": "0 for conflicts", "check": "none wrong", "diff": "emit-amdgcn"}[command] in shown


def test_the_explorer_connects_the_source_to_amdgcn() -> None:
    recording = record(
        ASTSource(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
        GFX942,
        options_for(GFX942),
    )
    lines = {line.text.split()[0]: line.source for line in recording.stage("amdgcn").lines if line.source}
    file, number = lines["buffer_load_dword"]
    assert Path(file).name == "test_amd.py"
    assert "tl.load(x + i" in Path(file).read_text().splitlines()[number - 1]


def test_a_layout_of_64_lanes_costs_what_lds_does(capsys: pytest.CaptureFixture[str]) -> None:
    mfma = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
    rows = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>"
    assert main(["layout", mfma, "--shape", "64x64", "--to", rows, "--arch", "gfx942"]) == 0
    assert "store: 4 ds_write a warp, 16 bytes a lane" in capsys.readouterr().out


def test_a_conversion_that_does_not_fit_into_lds_goes_by_way_of_a_layout_between() -> None:
    """128 KiB of scratch at once, 64 KiB in two conversions."""
    attributes = {(position,): [["tt.divisibility", 16]] for position in range(2)}
    signature = {"x": "*fp32", "out": "*fp32", "M": "constexpr", "N": "constexpr"}
    kernel = triton.compile(ASTSource(transpose, signature, {"M": 256, "N": 128}, attributes), GFX942, {"num_warps": 4})
    assert kernel.metadata.shared == 64 << 10
    x, out = np.arange(256 * 128, dtype=np.float32), np.zeros(256 * 128, np.float32)
    report = amdgcn.run(kernel.asm["amdgcn"], None, (1,), [x, out], shared_bytes=kernel.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, x.reshape(256, 128).T.ravel())


_SLICED = """
#whole = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %i = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32, #ttg.slice<{dim = 1, parent = #whole}>>
    %j = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #whole}>>
    %i1 = tt.expand_dims %i {axis = 1 : i32} : tensor<8xi32, #ttg.slice<{dim = 1, parent = #whole}>> -> tensor<8x1xi32, #whole>
    %j1 = tt.expand_dims %j {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #whole}>> -> tensor<1x128xi32, #whole>
    %i2 = tt.broadcast %i1 : tensor<8x1xi32, #whole> -> tensor<8x128xi32, #whole>
    %j2 = tt.broadcast %j1 : tensor<1x128xi32, #whole> -> tensor<8x128xi32, #whole>
    %c = arith.constant dense<128> : tensor<8x128xi32, #whole>
    %r = arith.muli %i2, %c : tensor<8x128xi32, #whole>
    %o = arith.addi %r, %j2 : tensor<8x128xi32, #whole>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<8x128x!tt.ptr<f32>, #whole>
    %q = tt.addptr %s, %o : tensor<8x128x!tt.ptr<f32>, #whole>, tensor<8x128xi32, #whole>
    %x = tt.load %q : tensor<8x128x!tt.ptr<f32>, #whole>
    %a = amdg.extract_slice %x [0, 0] : tensor<8x128xf32, #whole> to tensor<4x64xf32, #whole>
    %b = amdg.extract_slice %x [0, 64] : tensor<8x128xf32, #whole> to tensor<4x64xf32, #whole>
    %d = amdg.extract_slice %x [4, 0] : tensor<8x128xf32, #whole> to tensor<4x64xf32, #whole>
    %e = amdg.extract_slice %x [4, 64] : tensor<8x128xf32, #whole> to tensor<4x64xf32, #whole>
    %y = amdg.concat %e, %d, %b, %a : tensor<4x64xf32, #whole>, tensor<4x64xf32, #whole>, tensor<4x64xf32, #whole>, tensor<4x64xf32, #whole> -> tensor<8x128xf32, #whole>
    tt.store %q, %y : tensor<8x128x!tt.ptr<f32>, #whole>
    tt.return
  }
}
"""


def test_slices_of_registers_are_taken_and_put_together(tmp_path: Path) -> None:
    file = tmp_path / "k.ttgir"
    file.write_text(_SLICED)
    kernel = triton.compile(str(file), GFX942)
    x = np.arange(8 * 128, dtype=np.float32).reshape(8, 128)
    wanted = np.block([[x[4:, 64:], x[4:, :64]], [x[:4, 64:], x[:4, :64]]])
    for stage in ("amdgcn", "ttgir"):
        y = x.copy()
        if stage == "amdgcn":
            assert amdgcn.run(kernel.asm[stage], None, (1,), [y], shared_bytes=kernel.metadata.shared).ok
        else:
            interpret(parse_module(kernel.asm[stage]), "k", [y])
        np.testing.assert_array_equal(y, wanted)


@triton.jit
def by_library(x, y, out, kinds: tl.constexpr):
    i = tl.arange(0, 128)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, libdevice.acos(v))
    tl.store(out + 128 + i, libdevice.pow(v, w))
    tl.store(out + 256 + i, libdevice.floor(w) + libdevice.add_rn(v, w))
    tl.store(out + 384 + i, libdevice.float2int_rn(w * 100).to(tl.float32))
    tl.store(out + 512 + i, tl.exp(v.to(tl.float64)).to(tl.float32))


def _by_library(kinds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = (np.random.default_rng(n).uniform(0.1, 0.9, 128).astype(np.float32) for n in range(2))
    out = np.zeros(640, np.float32)
    source = ASTSource(by_library, dict.fromkeys(("x", "y", "out"), "*fp32"), {"kinds": kinds})
    triton.compile(source, GFX942, {"num_warps": 1})[(1,)](x, y, out)
    return x, y, out


@pytest.mark.skipif(find_ocml() is None, reason="needs ROCm's ocml.bc")
def test_functions_of_libdevice_are_llvm_s_or_of_rocm_s_library() -> None:
    x, y, out = _by_library(0)
    wanted = [np.arccos(x), x**y, np.floor(y) + x + y, np.rint(y * 100), np.exp(x)]
    np.testing.assert_allclose(out, np.concatenate(wanted), rtol=3e-6)


def test_a_function_without_its_library_is_an_error_at_the_kernel_s_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("minitriton.codegen.amd.device_library._candidates", lambda: iter([tmp_path / "ocml.bc"]))
    line = inspect.getsourcelines(by_library.fn)[1] + 4
    with pytest.raises(MinitritonError, match=rf"test_amd.py:{line}:\d+.*acos_f32 is computed by ROCm's ocml.bc"):
        _by_library(1)


def test_configurations_are_searched_by_what_the_emulator_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "scatter_add", "--arch", "gfx942", "--budget", "2", "--vary", "num_warps=2,4"]) == 0
    assert re.search(r"scatter_add gfx942: instructions \d+ -> \d+", capsys.readouterr().out)


def test_tune_ranks_by_data_sheets_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tune", f"{__file__}:matmul", "--signature", "*fp16:16,*fp16:16,*fp32:16,M=64,N=64,K=1024", "--arch"]
    assert main([*command, "gfx942"]) == 0
    shown = capsys.readouterr().out
    assert "no GPU of this kind was measured" in shown and "v_mfma_f32_" in shown and "of 65536" in shown
    assert main([*command, "gfx1250"]) == 1
    assert re.search(r"test_amd.py:\d+: error: the model of time knows no speeds of gfx1250", capsys.readouterr().err)


@triton.jit
def exponentials(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.exp(tl.load(x + i)))


@pytest.mark.parametrize("arch", ["gfx942", "gfx1200"])
def test_exp_has_denormals_and_takes_no_condition_for_them(arch: str) -> None:
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, -87.33654, -87.33655, -103.9, -104.5, -1e-40]
    x = np.concatenate([edges, np.linspace(-110, 80, 1024 - len(edges))]).astype(np.float32)
    kernel = triton.compile(
        ASTSource(exponentials, {"x": "*fp32", "out": "*fp32"}, {"N": 1024}), GPUTarget("hip", arch)
    )
    assert "v_cmp" not in kernel.asm["amdgcn"]
    out = np.zeros_like(x)
    kernel[(1,)](x, out)
    with np.errstate(all="ignore"):
        # The argument x * log2(e) is rounded: an error of up to |x| ulps of 1.
        np.testing.assert_allclose(out, np.exp(x.astype(np.float64)).astype(np.float32), rtol=2e-5, atol=1.5e-45)
    assert 0 < out[9] < 1e-44 and np.isnan(out[4]) and out[0] == out[1] == 1 and out[10] == out[6] == 0
