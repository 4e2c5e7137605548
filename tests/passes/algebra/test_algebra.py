"""`minitriton-algebra`: rules on small texts, what must stay, remarks, and the same bits with the pass and without it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from filecheck_ir import check, run

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.compiler import ASTSource, compile
from minitriton.errors import MinitritonError
from minitriton.passes.algebra import Algebra
from minitriton.target import CUDAOptions, GPUTarget

HEAD = """tt.func public @f(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %n: tensor<8x4xf32>, %i: tensor<8x4xi32>, %j: tensor<8x4xi32>, %c: tensor<8x4xi1>,
  %h: tensor<8x4xf16>, %g: tensor<8x4xf16>, %s: f32, %t: f32, %a: i32, %b: i32, %row: tensor<8x1xf32>, %ir: tensor<8x1xi32>, %jr: tensor<8x1xi32>,
  %of: tensor<8x4x!tt.ptr<f32>>, %oi: tensor<8x4x!tt.ptr<i32>>, %oh: tensor<8x4x!tt.ptr<f16>>, %or: tensor<8x!tt.ptr<f32>>) {
  %ss = tt.splat %s : f32 -> tensor<8x4xf32>
  %as = tt.splat %a : i32 -> tensor<8x4xi32>
  %bs = tt.splat %b : i32 -> tensor<8x4xi32>
  %rows = tt.broadcast %row : tensor<8x1xf32> -> tensor<8x4xf32>
  %irs = tt.broadcast %ir : tensor<8x1xi32> -> tensor<8x4xi32>
  %jrs = tt.broadcast %jr : tensor<8x1xi32> -> tensor<8x4xi32>
  %two = arith.constant dense<2.0> : tensor<8x4xf32>
  %three = arith.constant dense<3.0> : tensor<8x4xf32>
  %i6 = arith.constant dense<6> : tensor<8x4xi32>
  %i12 = arith.constant dense<12> : tensor<8x4xi32>
  %true = arith.constant dense<true> : tensor<8x4xi1>
"""
OUT = {"f": "tensor<8x4x!tt.ptr<f32>>", "i": "tensor<8x4x!tt.ptr<i32>>", "h": "tensor<8x4x!tt.ptr<f16>>"}
ELEMENT = {"f": "f32", "i": "i32", "h": "f16"}


def text(body: str, kind: str = "f") -> str:
    """A function that stores `%r`. In `body`, `F`, `I`, `H` and `C` are the types of tensors of f32, i32, f16 and i1."""
    for letter, element in (("F", "f32"), ("I", "i32"), ("H", "f16"), ("C", "i1")):
        body = re.sub(rf"\b{letter}\b", f"tensor<8x4x{element}>", body)
    return f"{HEAD}{body}\n  tt.store %o{kind}, %r : {OUT[kind]}\n  tt.return\n}}"


EXACT = [
    ("%r = arith.divf %x, %two : F", "f", "arith.mulf %arg0, %{{.*}} fastmath<arcp>"),
    ("%m = arith.negf %y : F\n%r = arith.addf %x, %m : F", "f", "arith.subf %arg0, %arg1"),
    ("%m = arith.negf %x : F\n%r = arith.divf %m, %three : F", "f", "arith.divf %arg0, %{{.*}}"),
    ("%m = arith.mulf %x, %three : F\n%r = arith.negf %m : F", "f", "arith.mulf %arg0, %{{.*}}"),
    ("%p = arith.muli %i, %j : I\n%q = arith.muli %i6, %i : I\n%r = arith.addi %p, %q : I", "i", "arith.muli %arg3, %{{.*}}"),
    ("%p = arith.addi %as, %i : I\n%r = arith.addi %p, %bs : I", "i", "arith.addi %arg10, %arg11 : i32"),
    ("%p = arith.xori %i, %irs : I\n%r = arith.xori %jrs, %p : I", "i", "arith.xori %arg13, %arg14 : tensor<8x1xi32>"),
    ("%p = arith.andi %i, %irs : I\n%r = arith.andi %p, %as : I", "i", "arith.andi %arg13, %{{.*}} : tensor<8x1xi32>"),
    ("%p = arith.divsi %i, %i6 : I\n%r = arith.divsi %p, %i12 : I", "i", "dense<72>"),
    ("%p = arith.remsi %i, %i12 : I\n%r = arith.remsi %p, %i6 : I", "i", "arith.remsi %arg3, %{{.*}}"),
    ("%p = arith.minsi %i, %i12 : I\n%r = arith.minsi %p, %i6 : I", "i", "arith.minsi %arg3, %{{.*}}"),
    ("%p = arith.maxsi %i, %j : I\n%r = arith.minsi %p, %i : I", "i", "tt.store %arg16, %arg3"),
    ("%p = arith.maxnumf %x, %two : F\n%r = arith.maxnumf %p, %three : F", "f", "arith.maxnumf %arg0, %{{.*}}"),
    (
        "%p = arith.divf %x, %n : F\n%q = arith.divf %y, %n : F\n%r = arith.select %c, %p, %q : C, F", "f",
        "arith.select %arg5, %arg0, %arg1",
    ),
    ("%p = math.exp %x : F\n%q = math.exp %y : F\n%r = arith.select %c, %p, %q : C, F", "f", "arith.select %arg5, %arg0, %arg1"),
    ("%p = arith.xori %c, %true : C\n%r = arith.select %p, %x, %y : C, F", "f", "arith.select %arg5, %arg1, %arg0"),
    (
        "%p = arith.extf %h : H to F\n%q = arith.extf %g : H to F\n%m = arith.maxnumf %p, %q : F\n%r = arith.truncf %m : F to H",
        "h", "arith.maxnumf %arg6, %arg7",
    ),
    (
        "%z = arith.constant dense<0.0> : F\n%p = arith.extf %h : H to F\n%m = arith.maxnumf %p, %z : F\n%r = arith.truncf %m : F to H",
        "h", "arith.maxnumf %arg6, %{{.*}} : tensor<8x4xf16>",
    ),
    ("%p = arith.cmpi sgt, %i, %j : I\n%r = arith.select %p, %i, %j : C, I", "i", "arith.maxsi %arg3, %arg4"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "expected"), EXACT, ids=[each[0][:34] for each in EXACT])
def test_an_exact_rule_rewrites(body: str, kind: str, expected: str) -> None:
    check(text(body, kind), Algebra(), f"// CHECK: {expected}")


FAST = [
    ("%r = arith.divf %x, %ss : F", "arith.divf %{{.*}}, %arg8 : f32"),
    ("%r = arith.divf %x, %rows : F", "arith.divf %{{.*}}, %arg12 : tensor<8x1xf32>"),
    ("%r = arith.divf %x, %three : F", "dense<0.333"),
    ("%p = math.exp %x : F\n%q = arith.divf %p, %rows : F\n%r = math.log %q : F", "arith.subf %arg0, %{{.*}}"),
    ("%p = math.sqrt %y : F\n%r = arith.divf %x, %p : F", "math.rsqrt %arg1"),
    ("%p = math.exp %x : F\n%q = math.exp %y : F\n%r = arith.mulf %p, %q : F", "arith.addf %arg0, %arg1"),
    ("%p = arith.divf %x, %n : F\n%q = arith.divf %y, %n : F\n%r = arith.subf %p, %q : F", "arith.subf %arg0, %arg1"),
    ("%p = arith.mulf %x, %two : F\n%r = arith.mulf %p, %three : F", "dense<6.0"),
    (
        "%p = arith.uitofp %c : C to F\n%q = arith.addf %p, %two : F\n%m = arith.divf %x, %y : F\n%d = arith.divf %x, %m : F\n"
        "%e = arith.divf %y, %m : F\n%r = arith.mulf %d, %e : F",
        "arith.divf %{{.*}}, %{{.*}}",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), FAST, ids=[each[0][:34] for each in FAST])
def test_a_fast_rule_rewrites_only_where_it_may(body: str, expected: str) -> None:
    check(text(body), Algebra(level="fast"), f"// CHECK: {expected}")
    assert run(text(body), Algebra()) == run(text(body))


KEPT = [
    ("%r = arith.divf %x, %three : F", "f"),
    ("%p = arith.addi %as, %i : I\n%r = arith.addi %p, %bs : I\ntt.store %oi, %p : tensor<8x4x!tt.ptr<i32>>", "i"),
    ("%p = arith.divsi %i, %i12 : I\n%r = arith.remsi %p, %i6 : I", "i"),
    ("%p = arith.muli %i, %i6 : I\n%r = arith.divsi %p, %i6 : I", "i"),
    ("%p = arith.addf %x, %two : F\n%r = arith.addf %p, %three : F", "f"),
    ("%p = arith.mulf %x, %n : F\n%q = arith.mulf %y, %n : F\n%r = arith.select %c, %p, %q : C, F", "f"),
]


@pytest.mark.parametrize(("body", "kind"), KEPT, ids=[each[0][:34] for each in KEPT])
def test_what_would_change_a_bit_or_be_computed_twice_is_kept(body: str, kind: str) -> None:
    assert run(text(body, kind), Algebra()) == run(text(body, kind))


def test_a_function_of_libdevice_rounds_otherwise_and_is_rewritten_by_fast_rules_alone() -> None:
    call = 'tt.extern_elementwise {} {{libname = "", libpath = "", pure = true, symbol = "__nv_expf"}} : (F) -> F'
    body = f"%p = {call.format('%x')}\n%q = {call.format('%y')}\n%r = arith.select %c, %p, %q : C, F"
    assert run(text(body), Algebra()) == run(text(body))
    fast = f"%p = {call.format('%x')}\n%q = {call.format('%y')}\n%r = arith.mulf %p, %q : F"
    check(text(fast), Algebra(level="fast"), "// CHECK: arith.addf %arg0, %arg1")


def test_a_range_allows_a_rule() -> None:
    body = "%k = arith.extui %c : C to I\n%p = arith.muli %k, %i6 : I\n%r = arith.divsi %p, %i6 : I"
    check(text(body, "i"), Algebra(), "// CHECK-NOT: arith.divsi")


def test_only_the_rules_that_are_named_are_applied() -> None:
    body = "%m = arith.negf %y : F\n%q = arith.addf %x, %m : F\n%r = arith.divf %q, %two : F"
    found = run(text(body), Algebra(rules="add-negative-float"))
    assert "subf" in found and "divf" in found


@triton.jit
def scaled(x, y, z, s, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    b = tl.load(y + offsets)
    c = a / 4 + b
    d = -(a * 3.0) + tl.where(b > 0, a / s, b / s)
    tl.store(z + offsets, c * d)
    tl.store(z + BLOCK + offsets, tl.maximum(tl.maximum(a, 0.5), 0.25) / 1024)


SIGNATURE = {"x": "*fp32", "y": "*fp32", "z": "*fp32", "s": "fp32", "BLOCK": "constexpr"}


def ptx(**options: object) -> str:
    source = ASTSource(scaled, SIGNATURE, {"BLOCK": 256})
    return compile(source, GPUTarget("cuda", 90), options, assemble=False).asm["ptx"]


def test_the_emulator_gives_the_same_bits_with_the_pass_and_without_it() -> None:
    numbers = np.concatenate(
        [np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e-39, 3e38], np.float32).repeat(16)] * 2
    )
    x, y = numbers, np.random.default_rng(0).permutation(numbers)
    found = []
    for without in ("", "minitriton-algebra"):
        z = np.zeros(512, np.float32)
        with np.errstate(all="ignore"):
            scaled[(1,)](x, y, z, 1.5, BLOCK=256, without=without)
        found.append(np.where(np.isnan(z), np.float32(np.nan), z).tobytes())
    assert found[0] == found[1]


def test_a_multiplication_that_stands_for_a_division_is_not_fused() -> None:
    found = ptx()
    assert "mul.rn.f32" in found and found.count("div.full.f32") < ptx(without="minitriton-algebra").count(
        "div.full.f32"
    )
    assert ptx(algebra="fast").count("div.full.f32") < found.count("div.full.f32")


@triton.jit
def gradient_of_a_quotient(weight, grad, value, norm, out, length, BLOCK: tl.constexpr):
    """-value * (weight * grad / norm / norm), a norm for each row: what Inductor makes of a layer norm of BERT by hand, and FlagTree tests."""
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < length
    v = tl.load(value + row * length + column, inside, other=0)
    w = tl.load(weight + column, inside, other=0)
    g = tl.load(grad + row * length + column, inside, other=0)
    n = tl.load(norm + row) + 1e-6
    tl.store(out + row * length + column, -v * (w * g / n / n), inside)


def test_a_row_divided_twice_by_its_norm_is_divided_by_nothing_for_each_element() -> None:
    signature = {
        **dict.fromkeys(("weight", "grad", "value", "norm", "out"), "*fp32"),
        "length": "i32",
        "BLOCK": "constexpr",
    }
    source = ASTSource(gradient_of_a_quotient, signature, {"BLOCK": 512})
    divisions = {
        level: compile(source, GPUTarget("cuda", 90), {"algebra": level}, assemble=False)
        .asm["ptx"]
        .count("div.full.f32")
        for level in ("exact", "fast")
    }
    assert divisions == {"exact": 2 * 512 // 128, "fast": 1}
    rng = np.random.default_rng(0)
    weight, norm = rng.normal(size=512).astype(np.float32), rng.uniform(0.5, 2, 2).astype(np.float32)
    grad, value, out = (rng.normal(size=(2, 512)).astype(np.float32) for _ in range(3))
    gradient_of_a_quotient[(2,)](weight, grad, value, norm, out, 512, BLOCK=512, algebra="fast")
    divisor = norm[:, None].astype(np.float64) + 1e-6
    np.testing.assert_allclose(out, -value * (weight * grad / divisor**2), rtol=1e-6)


def test_a_remark_says_which_rule_rewrote_which_line(capsys: pytest.CaptureFixture[str]) -> None:
    with knobs.compilation.scope():
        knobs.compilation.enable_remarks = True
        ptx()
    line = scaled.fn.__code__.co_firstlineno + 5
    assert re.search(
        rf"test_algebra.py:{line}:\d+: remark: divide-by-power-of-two: divf\(x, C\) => ", capsys.readouterr().err
    )


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(MinitritonError, match="algebra must be 'exact' or 'fast', got 'loose'"):
        CUDAOptions(algebra="loose")


def test_no_op_of_another_block_is_computed_again() -> None:
    body = """
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %p = arith.divf %x, %n : F
  %q = arith.divf %y, %n : F
  %r = scf.for %k = %zero to %a step %one iter_args(%v = %x) -> (F) : i32 {
    %w = arith.select %c, %p, %q : C, F
    %u = arith.addf %v, %w : F
    scf.yield %u : F
  }"""
    assert run(text(body), Algebra()) == run(text(body))
