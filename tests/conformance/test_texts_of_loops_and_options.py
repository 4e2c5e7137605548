# pyright: standard
"""Loops, functions, names and options, as programs look for them in the text of stages and in what the compiler says while it works
(see `test_texts_that_programs_ask_for`)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from asked_texts import ARCHITECTURES, array, text_of

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget
from minitriton.tools.tensor_descriptor import TensorDescriptor

FLOATS, INTS, LONGS = array(tl.float32), array(tl.int32), array(tl.int64)

# Loops ----------------------------------------------------------------------------------------------------------------


@triton.jit
def counted_pairs(n, out):
    count = 1
    for i in tl.range(0, n, flatten=True):
        for j in tl.range(0, n):
            tl.store(out + i * 32 + j, count)
            count += 1


@triton.jit
def pairs_above(n, firsts, seconds):
    count = 0
    for i in tl.range(0, n, flatten=True):
        start = i * 2
        end = start + i + 1
        tl.assume(end > start)
        for j in tl.range(start, end):
            tl.store(firsts + count, i)
            tl.store(seconds + count, j)
            count += 1


def test_nested_loops_are_one_where_asked() -> None:
    kernel = counted_pairs.warmup(10, INTS, grid=(1,))
    assert "tt.flatten" in kernel.asm["ttir"]
    assert kernel.asm["ttgir"].count("scf.for") == 1


def test_nested_loops_whose_inner_bounds_need_a_count_first_are_two() -> None:
    kernel = pairs_above.warmup(10, INTS, INTS, grid=(1,))
    assert "tt.flatten" in kernel.asm["ttir"]
    loops = kernel.asm["ttgir"].partition("scf.for")
    first, _, second = (loops[1] + loops[2]).partition("}")
    assert first.count("scf.for") == second.count("scf.for") == 1


@triton.jit
def announced(n):
    for i in tl.range(0, n, num_stages=None, loop_unroll_factor=None):
        tl.device_print("i", i)


@triton.jit
def announced_for(n, KEPT: tl.constexpr):
    for i in tl.range(0, n, disable_licm=KEPT):
        tl.device_print("i", i)


@triton.jit
def announced_while(n, KEPT: tl.constexpr):
    i = 0
    while tl.condition(i < n, disable_licm=KEPT):
        i = i + 1
        tl.device_print("i", i)


def test_options_of_a_loop_that_are_none_leave_nothing() -> None:
    ttir = text_of(announced, 10, stage="ttir")
    assert "num_stages" not in ttir and "loop_unroll_factor" not in ttir


@pytest.mark.parametrize("kernel", [announced_for, announced_while], ids=["for", "while"])
@pytest.mark.parametrize("kept", [False, True])
def test_llvm_is_told_to_leave_invariants_in_a_loop_where_asked(kept: bool, kernel: triton.JITFunction) -> None:
    assert ("llvm.licm.disable" in text_of(kernel, 10, kept, stage="llir")) == kept


@triton.jit
def added_often(out, FACTOR: tl.constexpr):
    program = tl.program_id(0)
    for i in tl.range(0, 10, loop_unroll_factor=FACTOR):
        tl.atomic_add(out + program, i + program)


@pytest.mark.parametrize("factor", [1, 2, 4, 5, 8])
def test_a_loop_is_unrolled_in_ttir_as_often_as_asked(factor: int) -> None:
    assert text_of(added_often, FLOATS, factor, stage="ttir").count("tt.atomic_rmw") >= factor


# Sums and layouts -----------------------------------------------------------------------------------------------------


@triton.jit
def folded_rows(x, y, n, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    program, programs = tl.program_id(1), tl.num_programs(1)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    if OP == "sum":
        total = tl.zeros([M], tl.float32)
    else:
        total = tl.full([M], float("-inf") if OP == "max" else float("inf"), tl.float32)
    for step in range(program, tl.cdiv(n, N), programs):
        tile = tl.load(x + rows[:, None] * n + (step * N + tl.arange(0, N))[None, :])
        if OP == "sum":
            total = total + tl.sum(tile, axis=1)
        elif OP == "max":
            total = tl.maximum(total, tl.max(tile, axis=1))
        else:
            total = tl.minimum(total, tl.min(tile, axis=1))
    tl.store(y + rows * programs + program, total)


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize(("op", "columns"), [("sum", 32), ("max", 64), ("min", 128)])
def test_a_loop_of_sums_adds_up_within_threads_and_once_among_them(op: str, columns: int, arch: str) -> None:
    for n in (512, 2048):
        assert (
            text_of(folded_rows, FLOATS, FLOATS, n, 32, columns, op, stage="ttgir", arch=arch).count('"tt.reduce"') == 2
        )


@triton.jit
def sums_stored_twice(
    x, sums, pairs, BLOCK: tl.constexpr, WIDTH: tl.constexpr, LENGTH: tl.constexpr, STAGES: tl.constexpr
):
    for step in tl.range(0, LENGTH // BLOCK, num_stages=STAGES):
        rows = BLOCK * step + tl.arange(0, BLOCK)
        total = tl.sum(tl.load(x + WIDTH * rows[:, None] + tl.arange(0, WIDTH)[None, :]), axis=-1).to(tl.float32)
        tl.store(sums + rows, total)
        pair = tl.full((1, 2), 0, tl.float32) + total[:, None]
        tl.store(pairs + rows[:, None] * 2 + tl.arange(0, 2)[None, :], pair)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_sum_needed_in_two_layouts_is_made_once(arch: str) -> None:
    ttgir = text_of(sums_stored_twice, FLOATS, FLOATS, FLOATS, 16, 64, 32, 2, stage="ttgir", arch=arch, num_warps=1)
    assert ttgir.count('"tt.reduce"') == 1


@triton.jit
def transposed_by_shapes(x, out, M: tl.constexpr, N: tl.constexpr):
    tile = tl.load(tl.make_block_ptr(x, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(M, N), order=(1, 0)))
    tile = tl.permute(tl.reshape(tile, (M, 4, 4, N // 16)), (1, 2, 3, 0))
    tl.store(out + tl.arange(0, M * N), tl.reshape(tile, (M * N,)))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_transposition_by_shapes_converts_its_layout_once(arch: str) -> None:
    assert text_of(transposed_by_shapes, INTS, INTS, 32, 32, stage="ttgir", arch=arch).count("ttg.convert_layout") == 1


# Values ---------------------------------------------------------------------------------------------------------------


@triton.jit
def constant(out, VALUE: tl.constexpr):
    value = tl.to_tensor(VALUE)
    tl.store(out.to(tl.pointer_type(value.dtype)), value)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        *[(1e50, "f64"), (1e10, "f32"), (1.0, "f32"), (0.0, "f32"), (5, "i32"), (2**40, "i64")],
        *[(float("inf"), "f32"), (float("-inf"), "f32"), (float("nan"), "f32")],
    ],
)  # fmt: skip
def test_a_number_has_the_smallest_type_that_holds_it(value: float, dtype: str) -> None:
    assert re.search(rf"arith.constant .* : {dtype}", text_of(constant, FLOATS, value, stage="ttir"))


@triton.jit
def sometimes(x):
    never = False
    if never:
        return x


@triton.jit
def undefined(out):
    tl.store(out, sometimes(0))


def test_what_a_function_does_not_return_is_poison() -> None:
    kernel = undefined.warmup(INTS, grid=(1,))
    assert "ub.poison" in kernel.asm["ttir"]
    assert "poison" in kernel.asm["llir"]


@triton.jit
def assumed(out, N: tl.constexpr, BLOCK: tl.constexpr):
    left = N - tl.program_id(0) * BLOCK
    tl.assume(left >= BLOCK)
    if left >= 128:
        tl.store(out + tl.program_id(0), left)
    else:
        tl.store(out + tl.program_id(0), left + 101024)


def test_an_assumption_is_kept_down_to_llvm() -> None:
    kernel = assumed.warmup(FLOATS, 1024, 128, grid=(8,))
    assert "llvm.intr.assume" in kernel.asm["ttgir"]
    assert "llvm.assume" in kernel.asm["llir"]


@triton.jit
def timed(data, times):
    begin = tl.extra.cuda.globaltimer()
    at = data + tl.arange(0, 128)
    for _ in range(10000):
        tl.store(at, tl.load(at) + 1)
    end = tl.extra.cuda.globaltimer()
    tl.store(times, begin)
    tl.store(times + 1, end)


@triton.jit
def places(out):
    tl.store(out + tl.program_id(0), tl.extra.cuda.smid())


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_special_registers_are_read_as_often_as_asked(arch: str) -> None:
    assert text_of(timed, LONGS, LONGS, arch=arch).count("%globaltimer") == 2
    assert text_of(places, INTS, arch=arch).count("%smid") == 1


# Arguments ------------------------------------------------------------------------------------------------------------


def declared(annotation: object) -> triton.JITFunction:
    def kernel(x, v):
        tl.store(x + v, v)

    kernel.__annotations__ = {"v": annotation}
    return triton.jit(kernel)


@pytest.mark.parametrize(("sign", "width"), [*[(s, w) for s in ("", "u") for w in (8, 16, 32, 64)], ("u", 1)])
def test_an_integer_argument_has_the_type_it_was_declared_with(sign: str, width: int) -> None:
    ttir = text_of(declared(f"tl.{sign}int{width}"), FLOATS, 3, stage="ttir")
    assert f"%v: i{width}" in ttir
    assert f"arith.{'u' if sign else 's'}itofp" in ttir
    if sign and width < 64:
        assert "arith.extui %v" in ttir


def stored(dtype: tl.dtype) -> triton.JITFunction:
    def kernel(out, val):
        tl.store(out, val)

    kernel.__annotations__ = {"val": dtype}
    return triton.jit(kernel)


@pytest.mark.parametrize(
    ("dtype", "name", "cast"),
    [
        (tl.float16, "f16", "arith.extf %val : f16 to f32"),
        (tl.bfloat16, "bf16", "arith.extf %val : bf16 to f32"),
        (tl.float32, "f32", ""),
        (tl.float64, "f64", "arith.truncf %val : f64 to f32"),
    ],
)
@pytest.mark.parametrize("value", [0.0, 42.0, float("inf"), float("nan")])
def test_a_float_argument_has_the_type_it_was_declared_with(
    dtype: tl.dtype, name: str, cast: str, value: float
) -> None:
    ttir = text_of(stored(dtype), FLOATS, value, stage="ttir")
    assert f"%val: {name}" in ttir and cast in ttir


@triton.jit
def nothing(a, b):
    pass


def test_a_descriptor_is_an_argument_of_its_own_type_and_what_follows_is_divisible() -> None:
    tile = TensorDescriptor.from_tensor(np.zeros(1024, np.float32), [128])
    ttir = text_of(nothing, tile, 16, stage="ttir", arch="sm90")
    assert "%a: !tt.tensordesc<tensor<128xf32>>" in ttir
    assert "%b: i32 {tt.divisibility = 16 : i32}" in ttir


# Options --------------------------------------------------------------------------------------------------------------


@triton.jit
def scaled(data):
    at = data + tl.arange(0, 128)
    tl.store(at, tl.load(at) * 1.5 + 1.0)


@triton.jit
def raised(data):
    at = data + tl.arange(0, 128)
    tl.store(at, tl.math.exp2(tl.load(at)))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("by_default", [False, True])
def test_products_and_sums_are_fused_where_asked(by_default: bool, fused: bool) -> None:
    scaled.device_caches.clear()
    with knobs.language.scope():
        if by_default:
            knobs.language.default_fp_fusion = fused
        ptx = text_of(scaled, FLOATS, **({} if by_default else {"enable_fp_fusion": fused}))
    assert bool(re.search(r"(mad|fma)\.r[nzmp]\.(ftz\.)?f32", ptx)) == fused


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("flushed", [False, True])
def test_subnormals_of_an_exponential_are_flushed_where_asked(flushed: bool, arch: str) -> None:
    assert ("ex2.approx.ftz.f32" in text_of(raised, FLOATS, arch=arch, enable_reflect_ftz=flushed)) == flushed


@pytest.mark.parametrize("arch", ["sm70", *ARCHITECTURES])
@pytest.mark.parametrize("by_default", [False, True])
def test_the_architecture_is_the_one_asked_for(by_default: bool, arch: str) -> None:
    with knobs.runtime.scope():
        if by_default:
            knobs.runtime.override_arch = arch
        ttgir = text_of(scaled, FLOATS, stage="ttgir", **({} if by_default else {"arch": arch}))
    assert re.findall(r"cuda:(\d+)", ttgir) == [arch.removeprefix("sm")]


@triton.jit(noinline=True)
def apart(x):
    tl.store(x, 0)


@triton.jit
def calls(x):
    apart(x)
    tl.store(x, 0)
    apart(x)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_only_the_kernel_has_the_limit_of_registers(arch: str) -> None:
    ptx = text_of(calls, INTS, arch=arch, maxnreg=42)
    assert re.search(r"\.visible \.entry [^{;]*\.maxnreg 42", ptx)
    assert not re.search(r"\.visible \.func [^{;]*\.maxnreg", ptx)


@triton.jit
def checked(x):
    tl.device_assert(tl.load(x) == 1, "x is not 1")


@triton.jit
def sums(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(a + at) + tl.load(b + at))


@triton.jit
def passes_on(a, b, out, N: tl.constexpr):
    sums(a, b, out, N)


def test_assertions_are_in_ttir_where_one_debugs() -> None:
    assert text_of(checked, INTS, stage="ttir", debug=False) != text_of(checked, INTS, stage="ttir", debug=True)


def test_a_function_said_to_be_apart_is_another_text() -> None:
    inlined = text_of(passes_on, FLOATS, FLOATS, FLOATS, 32, stage="ttir")
    sums.noinline, sums.hash, passes_on.hash = True, None, None
    try:
        passes_on.device_caches.clear()
        assert text_of(passes_on, FLOATS, FLOATS, FLOATS, 32, stage="ttir") != inlined
    finally:
        sums.noinline, sums.hash, passes_on.hash = False, None, None
        passes_on.device_caches.clear()


@pytest.mark.parametrize("arch", [80, 86, 89, 90])
def test_ptx_names_its_target_and_the_size_of_addresses(arch: int, tmp_path: Path) -> None:
    file = tmp_path / "empty.ttgir"
    file.write_text(
        """
        module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
          tt.func public @empty(%arg0: !tt.ptr<i32>, %arg1: !tt.ptr<i32>) { tt.return }
        }"""
    )
    for source in (str(file), ASTSource(scaled, {"data": "*fp32"}, {})):
        kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32))
        assert f".target sm_{arch}" in kernel.asm["ptx"] and ".address_size 64" in kernel.asm["ptx"]
        assert kernel.asm["cubin"] != b""


# What the compiler writes down ----------------------------------------------------------------------------------------


@triton.jit
def masked_sum(x_ptr, y_ptr, output_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(axis=0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


@pytest.mark.parametrize(
    ("no_lines", "variables", "described"),
    [(None, None, False), ("0", "1", True), ("1", "1", False), ("0", "0", False), ("1", "0", False)],
)
def test_llvm_ir_describes_the_variables_where_asked(
    no_lines: str | None, variables: str | None, described: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TRITON_DISABLE_LINE_INFO", no_lines), ("LLVM_EXTRACT_DI_LOCAL_VARIABLES", variables)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    masked_sum.device_caches.clear()
    llir = text_of(masked_sum, FLOATS, FLOATS, FLOATS, 98432, 1024, stage="llir")
    assert ("dbg_value" in llir) == described
    for name in ("offsets", "program", "mask", "x", "y", "output"):
        assert (f'!DILocalVariable(name: "{name}"' in llir) == described


@pytest.mark.parametrize(
    ("asked", "block", "dumped"), [("1", 16, True), ("masked_sum", 32, True), ("another", 64, False)]
)
def test_the_passes_of_a_kernel_are_dumped_where_asked(
    asked: str, block: int, dumped: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_DUMP", asked)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    masked_sum.device_caches.clear()
    text_of(masked_sum, FLOATS, FLOATS, FLOATS, 1024, block)
    said = capfd.readouterr().err
    assert ("IR Dump Before" in said) == dumped
    assert ("tt.func public @masked_sum" in said) == dumped


def test_each_stage_can_be_run_again_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("TRITON_REPRODUCER_PATH", str(tmp_path / "again"))
    scaled.device_caches.clear()
    text_of(scaled, FLOATS)
    steps = {"ttir": "triton-combine", "ttgir": "triton.*-coalesce", "llir": "convert-triton-.*gpu-to-llvm"}
    for stage, step in steps.items():
        text = (tmp_path / f"again.make_{stage}.repro.mlir").read_text()
        assert "mlir_reproducer" in text
        assert re.search(rf'pipeline: "(.*{step}.*)"', text)


@triton.jit
def product_for_older_cores(a, b, c, m, n, k, a_m, b_n, c_m):
    a_tiles = tl.make_tensor_descriptor(a, shape=[m, k], strides=[a_m, 1], block_shape=[32, 128])
    b_tiles = tl.make_tensor_descriptor(b, shape=[k, n], strides=[b_n, 1], block_shape=[32, 128])
    c_tiles = tl.make_tensor_descriptor(c, shape=[m, n], strides=[c_m, 1], block_shape=[32, 32])
    c_tiles.store([0, 0], tl.dot(a_tiles.load([0, 0]), b_tiles.load([0, 0]).T))


@triton.jit
def scattered(indices, values, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:]
    index = tl.load(indices + (at // 3456 % 512 + 512 * (at % 9)), None, eviction_policy="evict_last")
    index = (-4) + tl.where(index < 0, index + 520, index)
    inside = index < tl.full([1], 512, tl.int64)
    value = tl.load(values + at // 9 % 384, inside, eviction_policy="evict_last", other=0.0)
    tl.store(out + at, tl.where(inside, value.to(tl.float32), tl.full(value.shape, 0.0, tl.float32)), None)


@triton.jit
def moved_by_what_was_read(x, out):
    at = x + tl.arange(0, 64)
    step = 0
    for i in tl.range(0, 64, num_stages=3):
        at = x + tl.arange(0, 64) + 64 * step
        value = tl.load(at)
        tl.store(out + tl.arange(0, 64) + i * 64, value)
        if tl.max(value) > 0:
            step += 1


REMARKED = [
    (
        product_for_older_cores,
        dict.fromkeys("abc", "*fp32") | dict.fromkeys(("m", "n", "k", "a_m", "b_n", "c_m"), "i32"),
        {},
        ("MMA version 3", "due to unsupported shapes or data types"),
    ),
    (
        scattered,
        {"indices": "*i64", "values": "*fp32", "out": "*fp16", "BLOCK": "constexpr"},
        {"BLOCK": 1024},
        ("remark: Warning: vectorization fails",),
    ),
]


@pytest.mark.parametrize(("kernel", "signature", "constants", "asked"), REMARKED, ids=["products", "vectors"])
def test_remarks_say_what_could_not_be_done(
    kernel: triton.JITFunction,
    signature: dict[str, str],
    constants: dict[str, int],
    asked: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The second time the kernel is in the cache."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    source = ASTSource(kernel, signature, constants)
    options = {"num_warps": 1} if constants else {}
    monkeypatch.setenv("MLIR_ENABLE_DIAGNOSTICS", "remarks")
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    said = capfd.readouterr().err
    assert all(words in said for words in asked)
    assert "note: see current operation:" not in said
    monkeypatch.setenv("MLIR_ENABLE_DIAGNOSTICS", "remarks,operations,stacktraces")
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    said = capfd.readouterr().err
    assert "note: diagnostic emitted with trace:" in said and "note: see current operation:" in said


def test_a_loop_compiles_whose_load_moves_by_what_it_read() -> None:
    assert "scf.for" in text_of(moved_by_what_was_read, FLOATS, FLOATS, stage="ttgir")
