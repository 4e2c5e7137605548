"""Kernels as Triton's own front end writes them, interpreted and compared with NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from triton._C.libtriton import ir, nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

from minitriton.dialects.text import parse_module
from minitriton.interpreter import InterpreterError, interpret
from minitriton.interpreter.numbers import formats
from minitriton_kernels.cases import CASES, Case, load_kernels

pytestmark = pytest.mark.oracle

KINDS = {
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "i1",
}


def type_of(arg: Any) -> str:
    if isinstance(arg, np.ndarray):
        return "*" + KINDS[arg.dtype.name]
    return "fp32" if isinstance(arg, float) else "i32"


def launch(
    kernel: Any, args: list[Any], grid: tuple[int, ...], types: dict[str, str] | None = None, **constants: Any
) -> None:
    """Run a kernel of the wheel through its own TTIR and our interpreter. `types` overrides what arguments are."""
    kernel = getattr(kernel, "fn", kernel) if not hasattr(kernel, "arg_names") else kernel
    names = [name for name in kernel.arg_names if name not in constants]
    signature = {name: type_of(arg) for name, arg in zip(names, args, strict=True)} | (types or {})
    signature = {name: signature.get(name, "constexpr") for name in kernel.arg_names}
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"num_warps": 4})
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs={})
    codegen = backend.get_codegen_implementation(options)
    module = source.make_ir(target, options, codegen, backend.get_module_map(), context)
    text = str(backend.make_ttir(module, {}, options, 90))
    interpret(parse_module(text, "kernel.ttir"), kernel.fn.__name__, args, grid)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_example_gives_its_answer(case: Case):
    kernel = getattr(load_kernels(case.file, "triton"), case.kernel)
    args = case.inputs(np.random.default_rng(0))
    expected = case.expected(*[arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args])
    launch(kernel, args, case.grid, **case.constexprs)
    for position, answer in expected.items():
        np.testing.assert_allclose(
            args[position].astype(np.float64), answer.astype(np.float64), rtol=case.tolerance, atol=case.tolerance
        )


@triton.jit
def sorting(x, o, p, m, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.sort(v, descending=True))
    tl.store(p + i, tl.cumsum(v, 0))
    tl.store(m, tl.argmax(v, 0))
    tl.store(m + 1, tl.argmin(v, 0))
    tl.store(m + 2, tl.sum(v.to(tl.int32), 0))


def test_sorting_scanning_and_arguments_of_extrema():
    x = np.random.default_rng(0).permutation(64).astype(np.float32)
    o, p, m = np.zeros(64, np.float32), np.zeros(64, np.float32), np.zeros(3, np.int32)
    launch(sorting, [x, o, p, m], (1,), N=64)
    assert o.tolist() == sorted(x.tolist(), reverse=True)
    assert p.tolist() == np.cumsum(x).tolist()
    assert m.tolist() == [int(x.argmax()), int(x.argmin()), 2016]


@triton.jit
def rows_and_columns(x, rows, columns, cumulative, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(rows + i, tl.max(v, 1))
    tl.store(columns + j, tl.xor_sum(v, 0))
    tl.store(cumulative + i[:, None] * N + j[None, :], tl.cumsum(v, 0, reverse=True))


def test_reductions_and_scans_along_each_axis():
    x = np.random.default_rng(0).integers(-100, 100, (8, 16), np.int32)
    rows, columns, cumulative = np.zeros(8, np.int32), np.zeros(16, np.int32), np.zeros((8, 16), np.int32)
    launch(rows_and_columns, [x, rows, columns, cumulative], (1,), M=8, N=16)
    assert (rows == x.max(1)).all()
    assert (columns == np.bitwise_xor.reduce(x, 0)).all()
    assert (cumulative == x[::-1].cumsum(0)[::-1]).all()


@triton.jit
def integer_arithmetic(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, a // b)
    tl.store(o + N + i, a % b)
    tl.store(o + 2 * N + i, a >> 3)
    tl.store(
        o + 3 * N + i,
        tl.umulhi(a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True)).to(tl.int32, bitcast=True),
    )
    tl.store(o + 4 * N + i, tl.where(a.to(tl.uint32, bitcast=True) < b.to(tl.uint32, bitcast=True), a, b))


def test_integer_division_rounds_toward_zero():
    rng = np.random.default_rng(0)
    x, y = (
        rng.integers(-1000, 1000, 64, np.int32),
        rng.integers(1, 50, 64, np.int32) * rng.choice([-1, 1], 64).astype(np.int32),
    )
    o = np.zeros((5, 64), np.int32)
    launch(integer_arithmetic, [x, y, o], (1,), N=64)
    quotient = np.trunc(x / y).astype(np.int32)
    unsigned = x.view(np.uint32).astype(np.uint64), y.view(np.uint32).astype(np.uint64)
    assert (o[0] == quotient).all() and (o[1] == x - quotient * y).all() and (o[2] == x >> 3).all()
    assert (o[3].view(np.uint32) == (unsigned[0] * unsigned[1]) >> np.uint64(32)).all()
    assert (o[4] == np.where(unsigned[0] < unsigned[1], x, y)).all()


@triton.jit
def narrow_floats(x, bf, e4, e5, back, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(bf + i, v.to(tl.bfloat16))
    tl.store(e4 + i, v.to(tl.float8e4nv))
    tl.store(e5 + i, v.to(tl.float8e5))
    tl.store(back + i, v.to(tl.float8e4nv).to(tl.float16).to(tl.float32))


def test_narrow_floats_are_stored_as_their_bits():
    x = (np.random.default_rng(0).standard_normal(64) * 10).astype(np.float32)
    bf, e4, e5 = np.zeros(64, np.uint16), np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    back = np.zeros(64, np.float32)
    launch(narrow_floats, [x, bf, e4, e5, back], (1,), {"bf": "*bf16", "e4": "*fp8e4nv", "e5": "*fp8e5"}, N=64)
    assert (bf == formats.encode_bf16(x)).all()
    assert (e4 == formats.encode_small("f8E4M3FN", x)).all()
    assert (e5 == formats.encode_small("f8E5M2", x)).all()
    assert (back == formats.decode_small("f8E4M3FN", e4)).all()


@triton.jit
def tiles_by_descriptor(x, o, m, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [B, B])
    target = tl.make_tensor_descriptor(o, [n, m], [m, 1], [B, B])
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    target.store([column, row], source.load([row, column]).T)


def test_descriptors_cut_off_what_lies_outside():
    x = np.random.default_rng(0).standard_normal((40, 24)).astype(np.float32)
    o = np.zeros((24, 40), np.float32)
    launch(tiles_by_descriptor, [x, o, 40, 24], (3, 2), B=16)
    assert (o == x.T).all()


@triton.jit
def tile_of_host_descriptor(descriptor, o, column, B: tl.constexpr):
    i, j = tl.arange(0, B), tl.arange(0, B)
    tl.store(o + i[:, None] * B + j[None, :], descriptor.load([B, column]))


@dataclass
class HostDescriptor:
    base: np.ndarray
    shape: list[int]
    strides: list[int]
    block_shape: list[int]


def test_a_descriptor_made_on_the_host_is_an_argument():
    x, o = np.arange(40 * 24, dtype=np.float32).reshape(40, 24), np.zeros((16, 16), np.float32)
    descriptor = HostDescriptor(x, [40, 24], [24, 1], [16, 16])
    types = {"descriptor": "tensordesc<fp32[16,16]>"}
    launch(tile_of_host_descriptor, [descriptor, o, 16], (1,), types, B=16)
    assert (o[:, :8] == x[16:32, 16:]).all() and (o[:, 8:] == 0).all()


@triton.jit
def tiles_by_block_pointer(x, o, m, n, B: tl.constexpr):
    source = tl.make_block_ptr(x, (m, n), (n, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    total = tl.zeros((B,), tl.float32)
    for _ in range(0, n, B):
        total += tl.sum(tl.load(source, boundary_check=(0, 1), padding_option="zero"), 1)
        source = tl.advance(source, (0, B))
    target = tl.make_block_ptr(o, (m,), (1,), (tl.program_id(0) * B,), (B,), (0,))
    tl.store(target, total, boundary_check=(0,))


def test_block_pointers_walk_along_rows():
    x = np.random.default_rng(0).integers(-9, 9, (40, 24)).astype(np.float32)
    o = np.zeros(40, np.float32)
    launch(tiles_by_block_pointer, [x, o, 40, 24], (3,), B=16)
    assert (o == x.sum(1)).all()


@triton.jit
def counting(x, counts, ticket, N: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(counts + v, 1)
    tl.atomic_max(ticket, tl.max(v, 0))
    tl.atomic_add(ticket + 1, 1)
    tl.atomic_xchg(ticket + 2, tl.program_id(0))


def test_atomics_of_all_programs_add_up():
    x = np.random.default_rng(0).integers(0, 10, 256, np.int32)
    counts, ticket = np.zeros(10, np.int32), np.full(3, -1, np.int32)
    launch(counting, [x, counts, ticket], (4,), N=64)
    assert (counts == np.bincount(x, minlength=10)).all()
    assert ticket.tolist() == [int(x.max()), 3, 3]


@triton.jit
def scaled_product(a, b, sa, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    h, g = tl.arange(0, K // 2), tl.arange(0, K // 32)
    left = tl.load(a + i[:, None] * (K // 2) + h[None, :])
    right = tl.load(b + k[:, None] * N + j[None, :])
    left_scale = tl.load(sa + i[:, None] * (K // 32) + g[None, :])
    right_scale = tl.load(sb + j[:, None] * (K // 32) + g[None, :])
    product = tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e5m2")
    tl.store(c + i[:, None] * N + j[None, :], product)


def test_scaled_dot_products_of_fp4_and_fp8():
    rng = np.random.default_rng(0)
    m, n, k = 32, 32, 64
    a, b = rng.integers(0, 256, (m, k // 2), np.uint8), formats.encode_small("f8E5M2", rng.standard_normal((k, n)))
    sa, sb = rng.integers(120, 134, (m, k // 32), np.uint8), rng.integers(120, 134, (n, k // 32), np.uint8)
    c = np.zeros((m, n), np.float32)
    launch(scaled_product, [a, b, sa, sb, c], (1,), {"b": "*fp8e5"}, M=m, N=n, K=k)
    left = formats.unpack_e2m1(a, 1) * np.repeat(2.0 ** (sa.astype(float) - 127), 32, 1)
    right = formats.decode_small("f8E5M2", b) * np.repeat(2.0 ** (sb.astype(float) - 127), 32, 1).T
    np.testing.assert_allclose(c, left @ right, rtol=1e-5, atol=1e-5)


@triton.jit
def random_numbers(o, seed, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.rand(seed, i))


def test_random_numbers_are_uniform():
    o = np.zeros(4096, np.float32)
    launch(random_numbers, [o, 7], (4,), N=1024)
    assert o.min() >= 0 and o.max() < 1 and abs(o.mean() - 0.5) < 0.02 and len(np.unique(o)) > 4000


@triton.jit
def out_of_bounds(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, v)


def test_an_access_outside_an_array_names_the_line_of_the_kernel():
    with pytest.raises(InterpreterError, match="outside every array") as raised:
        launch(out_of_bounds, [np.zeros(60, np.float32), np.zeros(64, np.float32)], (1,), N=64)
    line = out_of_bounds.starting_line_number + out_of_bounds.src.splitlines().index("    v = tl.load(x + i)")
    assert raised.value.location is not None
    assert raised.value.location.file.endswith("test_real_kernels.py")
    assert abs(raised.value.location.line - line) <= 1
