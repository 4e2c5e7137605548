"""Reading IR and PTX takes as long as the text is: 100,000 blank lines, a name or a comment of 100,000 characters, a hundred thousand of anything."""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minitriton.dialects.text import parse_module
from minitriton.emulator.ptx.parser import parse
from minitriton.errors import MinitritonError
from minitriton.pipeline.ir_source import entry_of_text

N = 100_000
SECONDS = 4.0
"""Of the processor, for texts that take 0.01 to 0.6 s (2026-11-26); what is quadratic takes minutes."""

HEAD = ".version 8.0\n.target sm_90a\n.visible .entry k(\n.param .u64 p\n)\n{\n"


def module(body: str) -> str:
    return "module {\n  tt.func public @k(%x: !tt.ptr<i32>) {\n" + body + "    tt.return\n  }\n}\n"


IR = {
    "blank lines": module("\n" * N), "lines of spaces": module("   \n" * N), "carriage returns": module("\r\n" * N),
    "comments": module("// x\n" * N), "a comment": module("//" + "x" * N + "\n"),
    "a string": module('    tt.print "' + "a" * N + '" {hex = false, isSigned = array<i32>}\n'),
    "escapes": module('    tt.print "' + "\\22" * N + '" {hex = false, isSigned = array<i32>}\n'),
    "an open string": module('    tt.print "' + "\\" * N),
    "attributes": module("    %c = arith.constant {" + ", ".join(f"a{i} = 1 : i32" for i in range(N // 20)) + "} 1 : i32\n"),
    "nested attributes": module("    %c = arith.constant {a = " + "[" * N + "]" * N + "} 1 : i32\n"),
    "nested types": module("    %c = arith.constant dense<1> : " + "tensor<4x" * N + "\n"),
    "nested ops": module("    %t = arith.constant true\n" + "    scf.if %t {\n" * 200 + "    }\n" * 200),
    "a number": module("    %c = arith.constant " + "1" * N + " : i32\n"),
    "a dense list": module("    %c = arith.constant dense<[" + ", ".join(["1"] * (N // 5)) + f"]> : tensor<{N // 5}xi32>\n"),
    "places": module("".join(f"    %c{i} = arith.constant 1 : i32 loc(#loc{i})\n" for i in range(N // 50)))
    + "".join(f'#loc{i} = loc("x.py":{i}:1)\n' for i in range(N // 50)),
    "an alias": "#a" + " " * N + "\n" + module(""),
    "undefined values": module("".join(f"    tt.store %x, %u{i} : !tt.ptr<i32>\n" for i in range(N // 50))),
}  # fmt: skip

PTX = {
    "blank lines": HEAD + "\n" * N, "lines of tabs": HEAD + "\t\n" * N, "comments": HEAD + "// x\n" * N,
    "an open comment": HEAD + "/*" * N, "a place": HEAD + '.file 1 "a"\n.loc 1 2 3 // a.py:1:1 @[ ' + "a" * N + " ]\n",
    "lines of one statement": HEAD + "mov.b32 %r1\n" * N, "directives": HEAD + ".global\n" * N,
    "an initial value": HEAD + f".global .b8 x[{N}] = {{" + ",\n".join(["1"] * N) + "};\n",
    "nested blocks": HEAD + "{\n.reg .b32 %r<2>;\nmov.b32 %r1, 1;\n" * N, "open vectors": HEAD + "mov {" * (N // 4),
    "registers": HEAD + ".reg .b32 " + ",".join(f"%a{i}" for i in range(N // 4)) + ";\n", "braces": HEAD + "{" * N,
    "a parameter": ".version 8.0\n.target sm_90a\n.visible .entry k(.param .u64 " + "a" * N + "!) {\n",
    "a parameter of a call": HEAD + ".param .u64 " + "a" * N + "!;\n", "a header": ".visible .entry k(" + ".entry k(" * (N // 10) + "{\n",
}  # fmt: skip

ENTRIES = {
    "ptx": [".visible .entry k(" * (N // 10), ".visible" + "\n" * N, ".extern " * N],
    "llir": ["define ptx_kernel " * (N // 10), "define " + "x " * N, "define ptx_kernel void @" * (N // 10)],
}


def took(read: Callable[[], object]) -> float:
    start = time.process_time()
    with contextlib.suppress(MinitritonError):
        read()
    return time.process_time() - start


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", IR)
def test_ir_is_read_in_time(name: str) -> None:
    assert took(lambda: parse_module(IR[name], "k.ttir")) < SECONDS


@pytest.mark.parametrize("name", PTX)
def test_ptx_is_read_in_time(name: str) -> None:
    assert took(lambda: parse(PTX[name] + "ret;\n}\n")) < SECONDS


@pytest.mark.parametrize("stage", ENTRIES)
def test_a_kernels_entry_is_found_in_time(stage: str) -> None:
    for text in ENTRIES[stage]:
        assert took(lambda text=text: entry_of_text(text, stage)) < SECONDS


def test_no_pattern_looks_for_a_lines_beginning_across_lines() -> None:
    """`^\\s*` of many lines goes through blank lines from each of them."""
    found: list[str] = []
    for path in Path(parse_module.__code__.co_filename).parents[1].rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "re.M" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
                flags = ast.unparse(node)
                pattern = next(
                    (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)), ""
                )
                if ("MULTILINE" in flags or "re.M" in flags) and any(f"^\\s{many}" in pattern for many in "*+"):
                    found.append(f"{path.name}:{node.lineno}")
    assert found == []
