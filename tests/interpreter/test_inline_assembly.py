"""Inline PTX on whole tiles: packing, several results, memory, and what whole tiles cannot know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitriton.dialects.text import parse_module
from minitriton.emulator.inline_assembly import evaluate
from minitriton.interpreter import InterpreterError, interpret
from minitriton.interpreter.errors import UnsupportedOpError

WIDTH = {
    "i8": np.uint8,
    "i16": np.uint16,
    "i32": np.uint32,
    "i64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}


def run(
    asm: str, constraints: str, takes: list[str], gives: list[str], packed: int, *arrays: np.ndarray
) -> list[np.ndarray]:
    """Applies the string to one tile of 256 elements of every operand: a kernel of loads, the op, stores."""
    size = len(arrays[0]) if arrays else 256
    lines, out = [], [np.zeros(size, WIDTH[kind]) for kind in gives]
    for n, kind in enumerate([*takes, *gives]):
        lines.append(f"%s{n} = tt.splat %p{n} : !tt.ptr<{kind}> -> tensor<{size}x!tt.ptr<{kind}>>")
        lines.append(f"%a{n} = tt.addptr %s{n}, %j : tensor<{size}x!tt.ptr<{kind}>>, tensor<{size}xi32>")
    for n, kind in enumerate(takes):
        lines.append(f"%x{n} = tt.load %a{n} : tensor<{size}x!tt.ptr<{kind}>>")
    types = ", ".join(f"tensor<{size}x{kind}>" for kind in takes)
    results = ", ".join(f"tensor<{size}x{kind}>" for kind in gives)
    operands = ", ".join(f"%x{n}" for n in range(len(takes)))
    lines.append(
        f'%r{f":{len(gives)}" if len(gives) > 1 else ""} = tt.elementwise_inline_asm "{asm}" {{constraints = "{constraints}", '
        f'packed_element = {packed} : i32, pure = true}} {operands} : {types} -> {results} loc("k.py":7:3)'
    )
    for n, kind in enumerate(gives):
        value = f"%r#{n}" if len(gives) > 1 else "%r"
        lines.append(f"tt.store %a{n + len(takes)}, {value} : tensor<{size}x!tt.ptr<{kind}>>")
    arguments = ", ".join(f"%p{n}: !tt.ptr<{kind}>" for n, kind in enumerate([*takes, *gives]))
    body = "\n".join(lines)
    text = f"""module {{ tt.func public @f({arguments}) {{
      %j = tt.make_range {{start = 0 : i32, end = {size} : i32}} : tensor<{size}xi32>
      {body}
      tt.return }} }}"""
    interpret(parse_module(text), "f", [*arrays, *out], inline_assembly=evaluate)
    return out


RNG = np.random.default_rng(0)
WORDS = [RNG.integers(0, 1 << 32, 256, dtype=np.uint32) for _ in range(3)]


def test_words_are_shifted_as_ptx_says() -> None:
    low, high, by = WORDS
    (found,) = run("shf.l.wrap.b32 $0, $1, $2, $3;", "=r,r, r, r", ["i32"] * 3, ["i32"], 1, low, high, by)
    shift = (by % 32).astype(np.uint64)
    wide = (high.astype(np.uint64) << np.uint64(32)) | low
    np.testing.assert_array_equal(found, (wide << shift >> np.uint64(32)).astype(np.uint32))


def test_four_bytes_share_a_register() -> None:
    bytes_ = RNG.integers(0, 256, 256, dtype=np.uint8)
    (found,) = run("and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;", "=r,r", ["i8"], ["i8"], 4, bytes_)
    np.testing.assert_array_equal(found, ((bytes_ & 0x1F) << 3).astype(np.uint8))


def test_narrow_and_wide_elements_packed_together_have_registers_of_their_own() -> None:
    bytes_ = RNG.integers(0, 256, 256, dtype=np.uint8)
    asm = (
        "{ .reg .b8 t<4>; mov.b32 {t0, t1, t2, t3}, $8; cvt.u32.u8 $0, t0; cvt.u32.u8 $1, t1; cvt.u32.u8 $2, t2; "
        "cvt.u32.u8 $3, t3; } cvt.rn.f32.s32 $4, $0; cvt.rn.f32.s32 $5, $1; cvt.rn.f32.s32 $6, $2; cvt.rn.f32.s32 $7, $3;"
    )
    whole, real = run(asm, "=r,=r,=r,=r,=r,=r,=r,=r,r", ["i8"], ["i32", "f32"], 4, bytes_)
    np.testing.assert_array_equal(whole, bytes_)
    np.testing.assert_array_equal(real, bytes_.astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "letter", "asm", "function"),
    [
        ("f32", "f", "mul.f32 $0, $1, 0f40400000;", lambda x: x * np.float32(3)),
        ("f64", "d", "add.f64 $0, $1, $1;", lambda x: x + x),
        ("f16", "h", "add.f16 $0, $1, $1;", lambda x: x + x),
        ("i64", "l", "add.s64 $0, $1, 5;", lambda x: x + np.uint64(5)),
        ("i16", "h", "not.b16 $0, $1;", lambda x: ~x),
        ("i16", "r", "add.u32 $0, $1, 1;", lambda x: x + np.uint16(1)),
    ],
)
def test_every_letter_is_a_register_of_its_width(kind: str, letter: str, asm: str, function: Any) -> None:
    x = RNG.integers(0, 100, 256).astype(WIDTH[kind])
    (found,) = run(asm, f"={letter},{letter}", [kind], [kind], 1, x)
    np.testing.assert_array_equal(found, function(x))


def test_two_results_and_a_tied_register() -> None:
    a, b, _ = WORDS
    one, other = run(
        "sub.u32 $0, $2, $3; sub.u32 $1, $3, $2;", "=&r,=r,r,r,~{memory}", ["i32"] * 2, ["i32"] * 2, 1, a, b
    )
    np.testing.assert_array_equal(one, a - b)
    np.testing.assert_array_equal(other, b - a)
    (found,) = run("add.u32 $0, $0, $2;", "=r,0,r", ["i32"] * 2, ["i32"], 1, a, b)
    np.testing.assert_array_equal(found, a + b)


def test_labels_and_dollars_of_the_string_are_its_own() -> None:
    (x, _, _) = WORDS
    asm = "{ .reg .pred p; setp.lt.u32 p, $1, 1000000000; mov.b32 $0, 1; @p bra $$DONE_${:uid}; mov.b32 $0, 2; $$DONE_${:uid}: }"
    (found,) = run(asm, "=r,r", ["i32"], ["i32"], 1, x)
    np.testing.assert_array_equal(found, np.where(x < 1_000_000_000, 1, 2))


POINTERS = """
module {{ tt.func public @f(%x: !tt.ptr<i8>, %y: !tt.ptr<i8>, %n: i32) {{
  %j = tt.make_range {{start = 0 : i32, end = 128 : i32}} : tensor<128xi32>
  %k0 = tt.splat %n : i32 -> tensor<128xi32>
  %k = arith.addi %j, %k0 : tensor<128xi32>
  %x0 = tt.splat %x : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>>
  %xs = tt.addptr %x0, %k : tensor<128x!tt.ptr<i8>>, tensor<128xi32>
  %y0 = tt.splat %y : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>>
  %ys = tt.addptr %y0, %j : tensor<128x!tt.ptr<i8>>, tensor<128xi32>
  %r = tt.elementwise_inline_asm "{asm}" {{constraints = "=r,l,l", packed_element = 1 : i32, pure = false}} %xs, %ys :
    tensor<128x!tt.ptr<i8>>, tensor<128x!tt.ptr<i8>> -> tensor<128xi8> loc("k.py":7:3)
  tt.return }} }}
"""
COPY = "ld.global.b8 $0, [$1]; shl.b32 $0, $0, 3; st.global.b8 [$2], $0;"


def test_pointers_reach_the_arrays_of_the_launch() -> None:
    x, y = RNG.integers(0, 256, 128, dtype=np.uint8), np.zeros(128, np.uint8)
    interpret(parse_module(POINTERS.format(asm=COPY)), "f", [x, y, 0], inline_assembly=evaluate)
    np.testing.assert_array_equal(y, x << 3)


def test_an_access_beyond_the_arrays_is_found_at_the_kernel_s_line() -> None:
    x, y = np.zeros(128, np.uint8), np.zeros(128, np.uint8)
    with pytest.raises(InterpreterError, match=r"out-of-bounds in `ld\.global\.b8") as caught:
        interpret(parse_module(POINTERS.format(asm=COPY)), "f", [x, y, 64], inline_assembly=evaluate)
    assert not isinstance(caught.value, UnsupportedOpError)
    assert str(caught.value.location) == "k.py:7:3"


def test_scalars_without_operands() -> None:
    text = """module { tt.func public @f(%p: !tt.ptr<i64>) {
      %t = tt.elementwise_inline_asm "mov.u64 $0, 77;" {constraints = "=l", packed_element = 1 : i32, pure = false} -> i64
      %d = tt.elementwise_inline_asm "griddepcontrol.wait; // dummy $0" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
      tt.store %p, %t : !tt.ptr<i64>
      tt.return } }"""
    out = np.zeros(1, np.int64)
    interpret(parse_module(text), "f", [out], inline_assembly=evaluate)
    assert out[0] == 77


@pytest.mark.parametrize(
    ("asm", "constraints", "message"),
    [
        ("mov.u32 $0, %tid.x; add.u32 $0, $0, $1;", "=r,r", "`%tid` depends on which thread runs it"),
        ("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=r,r", "`shfl.sync.bfly.b32` depends on which thread runs it"),
        ("st.shared.b32 [$1], 0;", "=r,r", "`st.shared.b32` depends on which thread runs it"),
        ("frobnicate.b32 $0, $1;", "=r,r", "does not know the instruction `frobnicate.b32`"),
        ("mov.b32 $0, $1;", "=r,r,r", "for 1 registers out and 2 in; its types and packing ask for 1 and 1"),
        ("mov.b32 $0, $1;", "=r,q", "the constraint 'q'"),
        ("mov.b32 $0, $7;", "=r,r", "names .7"),
    ],
)
def test_what_cannot_be_run_is_refused_at_the_kernel_s_line(asm: str, constraints: str, message: str) -> None:
    with pytest.raises(UnsupportedOpError, match=message) as caught:
        run(asm, constraints, ["i32"], ["i32"], 1, WORDS[0])
    assert str(caught.value.location) == "k.py:7:3"


def test_comments_are_no_instructions() -> None:
    (found,) = run("mov.b32 $0, $1; // not %tid.x, nor shfl.sync", "=r,r", ["i32"], ["i32"], 1, WORDS[0])
    np.testing.assert_array_equal(found, WORDS[0])
