"""Whole kernels on the interpreter: memory, control flow, regions, and the errors of broken ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.cf import Cf
from xdsl.dialects.ub import UB

from minitriton.dialects.arith import ARITH
from minitriton.dialects.math import MATH
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt import TT
from minitriton.interpreter import InterpreterError, interpret
from minitriton.interpreter import launch as meanings
from minitriton.interpreter.numbers import formats
from minitriton.interpreter.registry import is_forwarding_terminator


def run(text: str, *args: Any, grid: tuple[int, ...] = (1,), target: str | None = None) -> None:
    interpret(parse_module(text, "kernel.ttir"), "f", args, grid, target=target)


def kernel(arguments: str, body: str) -> str:
    return f"tt.func public @f({arguments}) {{\n{body}\n  tt.return\n}}"


def pointers(name: str, pointer: str, element: str, size: int) -> str:
    return f"""
  %{name}s = tt.splat %{pointer} : !tt.ptr<{element}> -> tensor<{size}x!tt.ptr<{element}>>
  %{name} = tt.addptr %{name}s, %range : tensor<{size}x!tt.ptr<{element}>>, tensor<{size}xi32>
"""


def on_vectors(element: str, size: int, body: str, result: str | None = None, out_size: int | None = None) -> str:
    """A kernel that loads `%a` and `%b`, runs `body`, and stores `%r`."""
    result, out_size = result or element, out_size or size
    out_range = f"%out_range = tt.make_range {{start = 0 : i32, end = {out_size} : i32}} : tensor<{out_size}xi32>"
    return kernel(
        f"%x: !tt.ptr<{element}>, %y: !tt.ptr<{element}>, %o: !tt.ptr<{result}>",
        f"""
  %range = tt.make_range {{start = 0 : i32, end = {size} : i32}} : tensor<{size}xi32>
  {out_range}
  {pointers("xp", "x", element, size)}
  {pointers("yp", "y", element, size)}
  %a = tt.load %xp : tensor<{size}x!tt.ptr<{element}>>
  %b = tt.load %yp : tensor<{size}x!tt.ptr<{element}>>
{body}
  %os = tt.splat %o : !tt.ptr<{result}> -> tensor<{out_size}x!tt.ptr<{result}>>
  %op = tt.addptr %os, %out_range : tensor<{out_size}x!tt.ptr<{result}>>, tensor<{out_size}xi32>
  tt.store %op, %r : tensor<{out_size}x!tt.ptr<{result}>>
""",
    )


ADD = kernel(
    "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32",
    """
  %c8 = arith.constant 8 : i32
  %pid = tt.get_program_id x : i32
  %base = arith.muli %pid, %c8 : i32
  %lanes = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %bases = tt.splat %base : i32 -> tensor<8xi32>
  %range = arith.addi %bases, %lanes : tensor<8xi32>
  %ns = tt.splat %n : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %range, %ns : tensor<8xi32>
"""
    + pointers("xp", "x", "f32", 8)
    + pointers("yp", "y", "f32", 8)
    + """
  %v = tt.load %xp, %mask : tensor<8x!tt.ptr<f32>> loc("k.py":7:9)
  %w = arith.addf %v, %v : tensor<8xf32>
  tt.store %yp, %w, %mask : tensor<8x!tt.ptr<f32>> loc("k.py":8:5)
""",
)


def test_programs_of_the_grid_write_their_parts():
    x, y = np.arange(20, dtype=np.float32), np.zeros(20, np.float32)
    run(ADD, x, y, 20, grid=(3,))
    assert y.tolist() == (2 * x).tolist()


def test_what_the_mask_turns_off_is_not_touched():
    x, y = np.arange(20, dtype=np.float32), np.full(20, -1, np.float32)
    run(ADD, x, y, 13, grid=(3,))
    assert y[:13].tolist() == (2 * x[:13]).tolist() and (y[13:] == -1).all()


def test_an_access_outside_every_array_names_the_line_and_the_program():
    x, y = np.arange(20, dtype=np.float32), np.zeros(24, np.float32)
    with pytest.raises(InterpreterError) as raised:
        run(ADD, x, y, 24, grid=(3,))
    assert str(raised.value.location) == "k.py:7:9"
    assert "(program (2, 0, 0))" in raised.value.message
    assert "outside every array" in raised.value.message


def test_a_store_to_a_read_only_array_is_refused():
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    y.flags.writeable = False
    with pytest.raises(InterpreterError, match="read-only"):
        run(ADD, x, y, 8)


def test_a_strided_view_is_reached_through_its_first_element():
    whole, y = np.arange(32, dtype=np.float32), np.zeros(8, np.float32)
    run(ADD, whole[4:], y, 8)
    assert y.tolist() == (2 * whole[4:12]).tolist()


def test_a_misaligned_access_is_refused():
    buffer = np.zeros(64, np.int8)
    odd = buffer[1 if buffer.ctypes.data % 4 == 0 else 0 :]
    with pytest.raises(InterpreterError, match="not a multiple of 4 bytes"):
        run(ADD, odd, np.zeros(8, np.float32), 8)


def test_a_reduction_combines_neighbours_and_keeps_their_order():
    body = """
  %s = "tt.reduce"(%a) <{axis = 0 : i32}> ({
  ^bb0(%p: f32, %q: f32):
    %t = arith.subf %p, %q : f32
    tt.reduce.return %t : f32
  }) : (tensor<8xf32>) -> f32
  %r = tt.splat %s : f32 -> tensor<1xf32>
"""
    x, o = np.array([1, 2, 4, 8, 16, 32, 64, 128], np.float32), np.zeros(1, np.float32)
    run(on_vectors("f32", 8, body, out_size=1), x, x, o)
    assert o[0] == ((1 - 2) - (4 - 8)) - ((16 - 32) - (64 - 128))


def test_a_reduction_of_two_operands_finds_the_place_of_the_maximum():
    body = """
  %m, %i = "tt.reduce"(%a, %range) <{axis = 0 : i32}> ({
  ^bb0(%p: f32, %pi: i32, %q: f32, %qi: i32):
    %gt = arith.cmpf ogt, %p, %q : f32
    %v = arith.select %gt, %p, %q : f32
    %w = arith.select %gt, %pi, %qi : i32
    tt.reduce.return %v, %w : f32, i32
  }) : (tensor<8xf32>, tensor<8xi32>) -> (f32, i32)
  %r = tt.splat %i : i32 -> tensor<1xi32>
"""
    x, o = np.array([1, 7, 3, 9, 2, 8, 0, 4], np.float32), np.zeros(1, np.int32)
    run(on_vectors("f32", 8, body, result="i32", out_size=1), x, x, o)
    assert o[0] == 3


@pytest.mark.parametrize(("backwards", "expected"), [(False, [1, 3, 6, 10]), (True, [10, 9, 7, 4])])
def test_a_scan_goes_along_its_axis(backwards: bool, expected: list[int]):
    body = f"""
  %r = "tt.scan"(%a) <{{axis = 0 : i32, reverse = {str(backwards).lower()}}}> ({{
  ^bb0(%p: i32, %q: i32):
    %t = arith.addi %p, %q : i32
    tt.scan.return %t : i32
  }}) : (tensor<4xi32>) -> tensor<4xi32>
"""
    x, o = np.arange(1, 5, dtype=np.int32), np.zeros(4, np.int32)
    run(on_vectors("i32", 4, body), x, x, o)
    assert o.tolist() == expected


def test_a_combine_region_with_control_flow_runs_element_by_element():
    body = """
  %s = "tt.reduce"(%a) <{axis = 0 : i32}> ({
  ^bb0(%p: i32, %q: i32):
    %gt = arith.cmpi sgt, %p, %q : i32
    %t = scf.if %gt -> (i32) {
      scf.yield %p : i32
    } else {
      scf.yield %q : i32
    }
    tt.reduce.return %t : i32
  }) : (tensor<4xi32>) -> i32
  %r = tt.splat %s : i32 -> tensor<1xi32>
"""
    x, o = np.array([3, 9, 2, 5], np.int32), np.zeros(1, np.int32)
    run(on_vectors("i32", 4, body, out_size=1), x, x, o)
    assert o[0] == 9


def test_loops_branches_and_calls():
    text = """
tt.func private @collatz(%x: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c0 = arith.constant 0 : i32
  %end, %steps = scf.while (%v = %x, %n = %c0) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %v, %c1 : i32
    scf.condition(%more) %v, %n : i32, i32
  } do {
  ^bb0(%v: i32, %n: i32):
    %odd = arith.andi %v, %c1 : i32
    %is_odd = arith.cmpi ne, %odd, %c0 : i32
    %next = scf.if %is_odd -> (i32) {
      %t = arith.muli %v, %c3 : i32
      %u = arith.addi %t, %c1 : i32
      scf.yield %u : i32
    } else {
      %h = arith.divsi %v, %c2 : i32
      scf.yield %h : i32
    }
    %m = arith.addi %n, %c1 : i32
    scf.yield %next, %m : i32, i32
  }
  tt.return %steps : i32
}
tt.func public @f(%o: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %total = scf.for %i = %c1 to %n step %c1 iter_args(%sum = %c0) -> (i32) : i32 {
    %s = tt.call @collatz(%i) : (i32) -> i32
    %t = arith.addi %sum, %s : i32
    scf.yield %t : i32
  }
  tt.store %o, %total : !tt.ptr<i32>
  tt.return
}
"""

    def steps(v: int) -> int:
        return 0 if v == 1 else 1 + steps(3 * v + 1 if v % 2 else v // 2)

    o = np.zeros(1, np.int32)
    run(text, o, 20)
    assert o[0] == sum(steps(i) for i in range(1, 20))


def test_unstructured_branches():
    text = """
tt.func public @f(%o: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0, %c0 : i32, i32)
^head(%i: i32, %s: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^exit(%s : i32)
^body:
  %t = arith.addi %s, %i : i32
  %j = arith.addi %i, %c1 : i32
  cf.br ^head(%j, %t : i32, i32)
^exit(%r: i32):
  tt.store %o, %r : !tt.ptr<i32>
  tt.return
}
"""
    o = np.zeros(1, np.int32)
    run(text, o, 10)
    assert o[0] == 45


def test_a_switch_takes_the_case_of_its_flag():
    text = """
tt.func public @f(%o: !tt.ptr<i32>, %n: i32) {
  %a = arith.constant 10 : i32
  %b = arith.constant 20 : i32
  %c = arith.constant 30 : i32
  cf.switch %n : i32, [
    default: ^end(%a : i32),
    4: ^end(%b : i32),
    7: ^end(%c : i32)
  ]
^end(%r: i32):
  tt.store %o, %r : !tt.ptr<i32>
  tt.return
}
"""
    o = np.zeros(1, np.int32)
    for n, expected in ((4, 20), (7, 30), (5, 10)):
        run(text, o, n)
        assert o[0] == expected


def test_atomics_on_one_address_happen_one_after_the_other():
    body = """
  %zero = arith.constant dense<0> : tensor<8xi32>
  %one = arith.constant dense<1> : tensor<8xi32>
  %same = tt.addptr %yps, %zero : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  %r = tt.atomic_rmw add, acq_rel, gpu, %same, %one : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>) -> tensor<8xi32>
"""
    x, y, o = np.zeros(8, np.int32), np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    run(on_vectors("i32", 8, body), x, y, o)
    assert y[0] == 8 and o.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("max", [5, 3]), ("umax", [-1, -4]), ("min", [-1, -4]), ("umin", [5, 3]), ("exch", [-1, 3]), ("xor", [-6, -1])],
)
def test_atomic_kinds(kind: str, expected: list[int]):
    body = f"""
  %r = tt.atomic_rmw {kind}, acq_rel, gpu, %yp, %a : (tensor<2x!tt.ptr<i32>>, tensor<2xi32>) -> tensor<2xi32>
"""
    x, y, o = np.array([-1, 3], np.int32), np.array([5, -4], np.int32), np.zeros(2, np.int32)
    run(on_vectors("i32", 2, body), x, y, o)
    assert y.tolist() == expected and o.tolist() == [5, -4]


@pytest.mark.parametrize(("kind", "expected"), [("and", "1.0"), ("or", "-1.0"), ("xor", "-0.0")])
def test_bitwise_atomics_of_floats_combine_their_bits(kind: str, expected: str):
    body = f"""
  %r = tt.atomic_rmw {kind}, acq_rel, gpu, %yp, %a : (tensor<2x!tt.ptr<f32>>, tensor<2xf32>) -> tensor<2xf32>
"""
    x, y, o = np.float32([1, 0]), np.float32([-1, 0]), np.zeros(2, np.float32)
    run(on_vectors("f32", 2, body), x, y, o)
    assert str(y[0]) == expected and o.tolist() == [-1, 0]


def test_compare_and_swap_swaps_what_is_as_expected():
    body = """
  %r = tt.atomic_cas acq_rel, gpu, %yp, %a, %range :
    (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
"""
    x, y, o = np.array([9, 8, 9, 8], np.int32), np.array([9, 9, 9, 9], np.int32), np.zeros(4, np.int32)
    run(on_vectors("i32", 4, body), x, y, o)
    assert y.tolist() == [0, 9, 2, 9] and o.tolist() == [9, 9, 9, 9]


def test_bf16_arrays_are_passed_as_bits():
    body = "  %r = arith.addf %a, %b : tensor<4xbf16>\n"
    x, y = formats.encode_bf16(np.float32([1, 2, 3, 4])), formats.encode_bf16(np.float32([0.5, 0.001, 256, -4]))
    o = np.zeros(4, np.uint16)
    run(on_vectors("bf16", 4, body), x, y, o)
    assert formats.decode_bf16(o).tolist() == [1.5, 2.0, 260.0, 0.0]


def dot(a: str, b: str, c: str, m: int, n: int, k: int) -> str:
    def tile(name: str, element: str, rows: int, columns: int) -> str:
        return f"""
  %{name}rows = tt.make_range {{start = 0 : i32, end = {rows} : i32}} : tensor<{rows}xi32>
  %{name}r1 = tt.expand_dims %{name}rows {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
  %{name}w = arith.constant dense<{columns}> : tensor<{rows}x1xi32>
  %{name}ro = arith.muli %{name}r1, %{name}w : tensor<{rows}x1xi32>
  %{name}columns = tt.make_range {{start = 0 : i32, end = {columns} : i32}} : tensor<{columns}xi32>
  %{name}c0 = tt.expand_dims %{name}columns {{axis = 0 : i32}} : tensor<{columns}xi32> -> tensor<1x{columns}xi32>
  %{name}rb = tt.broadcast %{name}ro : tensor<{rows}x1xi32> -> tensor<{rows}x{columns}xi32>
  %{name}cb = tt.broadcast %{name}c0 : tensor<1x{columns}xi32> -> tensor<{rows}x{columns}xi32>
  %{name}off = arith.addi %{name}rb, %{name}cb : tensor<{rows}x{columns}xi32>
  %{name}s = tt.splat %{name} : !tt.ptr<{element}> -> tensor<{rows}x{columns}x!tt.ptr<{element}>>
  %{name}p = tt.addptr %{name}s, %{name}off : tensor<{rows}x{columns}x!tt.ptr<{element}>>, tensor<{rows}x{columns}xi32>
  %{name}v = tt.load %{name}p : tensor<{rows}x{columns}x!tt.ptr<{element}>>
"""

    return kernel(
        f"%a: !tt.ptr<{a}>, %b: !tt.ptr<{b}>, %c: !tt.ptr<{c}>",
        tile("a", a, m, k)
        + tile("b", b, k, n)
        + tile("c", c, m, n)
        + f"""
  %d = tt.dot %av, %bv, %cv : tensor<{m}x{k}x{a}> * tensor<{k}x{n}x{b}> -> tensor<{m}x{n}x{c}>
  tt.store %cp, %d : tensor<{m}x{n}x!tt.ptr<{c}>>
""",
    )


def test_a_dot_of_halves_sums_in_float32():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((16, 32)).astype(np.float16), rng.standard_normal((32, 16)).astype(np.float16)
    c = rng.standard_normal((16, 16)).astype(np.float32)
    expected = a.astype(np.float32) @ b.astype(np.float32) + c
    run(dot("f16", "f16", "f32", 16, 16, 32), a, b, c)
    np.testing.assert_allclose(c, expected, rtol=1e-6, atol=1e-6)


def test_a_dot_of_integers_is_exact():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (16, 32), np.int8), rng.integers(-128, 128, (32, 16), np.int8)
    c = rng.integers(-1000, 1000, (16, 16), np.int32)
    expected = a.astype(np.int32) @ b.astype(np.int32) + c
    run(dot("i8", "i8", "i32", 16, 16, 32), a, b, c)
    assert (c == expected).all()


def test_block_pointers_check_their_boundaries_and_advance():
    text = kernel(
        "%x: !tt.ptr<f32>, %o: !tt.ptr<f32>",
        """
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %rows = arith.constant 3 : i64
  %columns = arith.constant 5 : i64
  %unit = arith.constant 1 : i64
  %p = tt.make_tensor_ptr %x, [%rows, %columns], [%columns, %unit], [%c0, %c2] {order = array<i32: 1, 0>} :
    !tt.ptr<tensor<2x4xf32>>
  %q = tt.advance %p, [%c2, %c0] : !tt.ptr<tensor<2x4xf32>>
  %v = tt.load %q {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<2x4xf32>>
  %w = tt.load %p {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32} : !tt.ptr<tensor<2x4xf32>>
  %r = arith.maxnumf %v, %w : tensor<2x4xf32>
  %o0 = tt.make_tensor_ptr %o, [%rows, %columns], [%columns, %unit], [%c1, %c1] {order = array<i32: 1, 0>} :
    !tt.ptr<tensor<2x4xf32>>
  tt.store %o0, %r {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<2x4xf32>>
""",
    )
    x, o = np.arange(15, dtype=np.float32).reshape(3, 5), np.zeros((3, 5), np.float32)
    run(text, x, o)
    assert o.tolist() == [[0, 0, 0, 0, 0], [0, 12, 13, 14, 0], [0, 7, 8, 9, 0]]


def test_descriptors_read_zeros_outside_and_write_nothing_there():
    text = kernel(
        "%x: !tt.ptr<f32>, %o: !tt.ptr<f32>",
        """
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %rows = arith.constant 3 : i32
  %columns = arith.constant 5 : i32
  %wide = arith.constant 5 : i64
  %unit = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %x, [%rows, %columns], [%wide, %unit] : <f32>, <tensor<2x4xf32>>
  %e = tt.make_tensor_descriptor %o, [%rows, %columns], [%wide, %unit] : <f32>, <tensor<2x4xf32>>
  %v = tt.descriptor_load %d[%c2, %c2] : !tt.tensordesc<tensor<2x4xf32>> -> tensor<2x4xf32>
  tt.descriptor_store %e[%c0, %c0], %v : !tt.tensordesc<tensor<2x4xf32>>, tensor<2x4xf32>
  tt.descriptor_store %e[%c2, %c2], %v : !tt.tensordesc<tensor<2x4xf32>>, tensor<2x4xf32>
  tt.descriptor_reduce add, %e[%c2, %c2], %v : !tt.tensordesc<tensor<2x4xf32>>, tensor<2x4xf32>
""",
    )
    x, o = np.arange(15, dtype=np.float32).reshape(3, 5), np.full((3, 5), -1, np.float32)
    run(text, x, o, target="cuda:80")
    assert o.tolist() == [[12, 13, 14, 0, -1], [0, 0, 0, 0, -1], [-1, -1, 24, 26, 28]]
    with pytest.raises(InterpreterError, match="begins 8 bytes into the rows, not at a multiple of 16"):
        run(text, x, o, target="cuda:90")


@pytest.mark.parametrize(
    ("kind", "described", "dtype", "old", "new", "result"),
    [
        ("max", "ui32", np.uint32, [2**31, 1], [4, 2**31], [2**31, 2**31]),
        ("min", "ui32", np.uint32, [2**31, 1], [4, 2**31], [4, 1]),
        ("max", "si32", np.int32, [-5, 1], [4, -(2**31)], [4, 1]),
        ("max", "bf16", np.uint16, [0xBF80, 0xC000], [0x3F80, 0xBF80], [0x3F80, 0xBF80]),
        ("min", "bf16", np.uint16, [0xBF80, 0x7FC0], [0x3F80, 0x4000], [0xBF80, 0x4000]),
    ],
)
def test_descriptor_reductions_order_elements_by_their_type(kind, described, dtype, old, new, result):
    element = described.lstrip("us")
    text = kernel(
        f"%x: !tt.ptr<{element}>, %o: !tt.ptr<{element}>",
        f"""
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %unit = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %x, [%two], [%unit] : <{element}>, <tensor<2x{described}>>
  %e = tt.make_tensor_descriptor %o, [%two], [%unit] : <{element}>, <tensor<2x{described}>>
  %v = tt.descriptor_load %d[%zero] : !tt.tensordesc<tensor<2x{described}>> -> tensor<2x{element}>
  tt.descriptor_reduce {kind}, %e[%zero], %v : !tt.tensordesc<tensor<2x{described}>>, tensor<2x{element}>
""",
    )
    o = np.array(old, dtype)
    run(text, np.array(new, dtype), o)
    assert o.tolist() == result


def test_stores_of_tensor_copies_write_whole_chunks_of_16_bytes():
    text = kernel(
        "%x: !tt.ptr<f32>, %o: !tt.ptr<f32>",
        """
  %c0 = arith.constant 0 : i32
  %columns = arith.constant 5 : i32
  %rows = arith.constant 2 : i32
  %wide = arith.constant 8 : i64
  %unit = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %x, [%rows, %columns], [%wide, %unit] : <f32>, <tensor<2x8xf32>>
  %e = tt.make_tensor_descriptor %o, [%rows, %columns], [%wide, %unit] : <f32>, <tensor<2x8xf32>>
  %v = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<tensor<2x8xf32>> -> tensor<2x8xf32>
  tt.descriptor_store %e[%c0, %c0], %v : !tt.tensordesc<tensor<2x8xf32>>, tensor<2x8xf32>
""",
    )
    x = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    for target, padding in (("cuda:80", -1), ("cuda:90", 0)):
        o = np.full(13, -1, np.float32)
        run(text, x, o, target=target)
        assert o.tolist() == [*range(1, 6), *[padding] * 3, *range(9, 14)], "the last chunk ends with the array"


def test_a_failed_assertion_stops_at_its_line():
    text = kernel(
        "%n: i32",
        """
  %range = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %ns = tt.splat %n : i32 -> tensor<4xi32>
  %c = arith.cmpi slt, %range, %ns : tensor<4xi32>
  tt.assert %c, "too long" : tensor<4xi1> loc("k.py":3:5)
""",
    )
    run(text, 4)
    with pytest.raises(InterpreterError) as raised:
        run(text, 2)
    assert str(raised.value.location) == "k.py:3:5"
    assert "at element (2,): too long" in raised.value.message


def test_prints_name_program_and_element(capsys: pytest.CaptureFixture[str]):
    text = kernel(
        "%n: i32",
        """
  %range = tt.make_range {start = 0 : i32, end = 2 : i32} : tensor<2xi32>
  tt.print " i: " {hex = false, isSigned = array<i32: 1>} : %range : tensor<2xi32>
""",
    )
    run(text, 0, grid=(1, 2))
    assert capsys.readouterr().out.splitlines() == [
        "pid (0, 0, 0) idx (0) i: 0",
        "pid (0, 0, 0) idx (1) i: 1",
        "pid (0, 1, 0) idx (0) i: 0",
        "pid (0, 1, 0) idx (1) i: 1",
    ]


def test_prints_bits_at_the_width_of_the_type(capsys: pytest.CaptureFixture[str]):
    text = kernel(
        "%n: i32",
        """
  %f = arith.sitofp %n : i32 to f16
  tt.print " i: " {hex = true, isSigned = array<i32: 1, 1>} : %n, %f : i32, f16
""",
    )
    run(text, -2)
    printed = [line.rpartition(" ")[2] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["0xfffffffe", "0xc000"]


def test_joins_splits_gathers_and_histograms():
    body = """
  %j = tt.join %a, %b : tensor<4xi32> -> tensor<4x2xi32>
  %s, %t = tt.split %j : tensor<4x2xi32> -> tensor<4xi32>
  %g = tt.gather %t[%s] {axis = 0 : i32} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %h = tt.histogram %a : tensor<4xi32> -> tensor<4xi32>
  %r = tt.cat %g, %h : tensor<4xi32> -> tensor<8xi32>
"""
    x, y, o = np.array([3, 0, 0, 1], np.int32), np.array([10, 20, 30, 40], np.int32), np.zeros(8, np.int32)
    run(on_vectors("i32", 4, body, out_size=8), x, y, o)
    assert o.tolist() == [40, 10, 10, 20, 2, 1, 0, 1]


def test_an_op_without_a_meaning_is_named_with_its_place():
    text = kernel("%n: i32", '  %r = "test.mystery"(%n) : (i32) -> i32 loc("k.py":2:3)')
    with pytest.raises(InterpreterError, match=r"k.py:2:3: error: the interpreter does not support"):
        run(text, 1)


def test_every_op_of_the_dialects_has_a_meaning():
    ops = {op for dialect in (TT, ARITH, MATH, Cf, UB) for op in dialect.operations}
    without = {op for op in ops if op not in meanings.PURE_OPS and op not in meanings.STATEFUL_OPS}
    assert {op.name for op in without if not is_forwarding_terminator(op.create())} == {"tt.func"}


def test_arguments_must_fit_the_kernel():
    text = kernel("%x: !tt.ptr<f32>", "")
    with pytest.raises(InterpreterError, match="takes 1 arguments, got 2"):
        run(text, np.zeros(1, np.float32), 3)
    with pytest.raises(InterpreterError, match="argument 0 of f is a pointer"):
        run(text, "x")
    for arguments in ([], [np.zeros(1, np.float32)]):
        with pytest.raises(InterpreterError, match="defines no function 'g'"):
            interpret(parse_module(text), "g", arguments)
    for number in (1 << 32, -(1 << 31) - 1):
        with pytest.raises(InterpreterError, match=f"argument 0 of f: {number} does not fit i32"):
            run(kernel("%n: i32", ""), number)
    for number in ((1 << 32) - 1, -(1 << 31)):
        run(kernel("%n: i32", ""), number)
