"""Lines and names that IR and PTX keep: of loads, constants, loops' values, mapped functions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource

LOAD_AND_STORE = """
module {
  tt.func public @copy(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>) attributes {noinline = false} {
    %0 = tt.load %arg0 : !tt.ptr<f32> loc("/path/copy.py":8:16)
    tt.store %arg1, %0 : !tt.ptr<f32> loc("/path/copy.py":9:20)
    tt.return loc("/path/copy.py":9:4)
  } loc("/path/copy.py":7:0)
} loc("/path/copy.py":7:0)
"""


def ttir(kernel: Any, signature: dict[str, str], **constants: Any) -> str:
    source = ASTSource(kernel, {**signature, **dict.fromkeys(constants, "constexpr")}, constants)
    return triton.compile(source).asm["ttir"]


def test_a_load_keeps_its_line_though_its_number_is_stored_at_once(tmp_path: Path) -> None:
    path = tmp_path / "copy.ttir"
    path.write_text(LOAD_AND_STORE)
    ptx = triton.compile(str(path)).asm["ptx"]
    lines = [int(line) for line in re.findall(r"\.loc\t1 (\d+) ", ptx)]
    assert {8, 9} <= set(lines)
    assert ptx.index("\t1 8 16") < ptx.index("ld.global") < ptx.index("\t1 9 20") < ptx.index("st.global")


@triton.jit
def names_of_constants(src, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK
    start = 7
    more = tl.load(src + offset + tl.arange(0, BLOCK)) + 1
    tl.store(src + offset + start + tl.arange(0, BLOCK), more)


def test_constants_are_named_after_the_variable_they_are_for() -> None:
    text = ttir(names_of_constants, {"src": "*fp32", "n": "i32"}, BLOCK=16)
    assert re.search(r"%more\w* = arith.constant dense<1.0\d+e\+00> : tensor<16xf32> loc\(#loc\d+\)", text)
    unknown = re.search(r"(#loc\d+) = loc\(unknown\)", text)
    assert unknown is not None
    assert f"%c16_i32 = arith.constant 16 : i32 loc({unknown[1]})" in text


@triton.jit
def counts(n):
    block = tl.arange(0, 16)
    i = 0
    while i < n:
        i += 1
        block *= i
    tl.device_print("", block)


def test_what_a_while_loop_carries_has_its_variable_s_name_only() -> None:
    text = ttir(counts, {"n": "i32"})
    assert re.search(r'\^bb0\(%block_\d+: tensor<16xi32> loc\("block"\), %i_\d+: i32 loc\("i"\)\)', text)


@triton.jit
def larger(a, b):
    return a if a > b else b


@triton.jit
def maps(x, y):
    i = tl.arange(0, 4)
    tl.store(x + i, tl.map_elementwise(larger, tl.load(x + i), tl.load(y + i)))


def test_a_mapped_function_s_arguments_have_a_place() -> None:
    text = ttir(maps, {"x": "*fp32", "y": "*fp32"})
    assert "tt.map_elementwise" in text
    assert "loc(unknown)" not in text
