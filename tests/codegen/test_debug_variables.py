"""`LLVM_EXTRACT_DI_LOCAL_VARIABLES=1`: what LLVM IR and PTX say of the variables of a kernel."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

X = np.arange(256, dtype=np.float32)


@triton.jit
def halved(a):
    half = a * 0.5
    return half


@triton.jit(noinline=True)
def stores(out, value):
    twice = value * 2
    tl.store(out, twice)


@triton.jit
def many_variables(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        loaded = tl.load(x + offsets)
        short = loaded.to(tl.bfloat16)
        small = loaded < k
        if n > 3:
            total += tl.where(small, halved(loaded), short.to(tl.float32))
    wide = n.to(tl.int64) * 3
    stores(out + BLOCK, wide.to(tl.float32))
    tl.store(out + offsets, total)


def compiled(monkeypatch: pytest.MonkeyPatch, wanted: str, line_info: str = "0", **options: Any) -> Any:
    monkeypatch.setenv("LLVM_EXTRACT_DI_LOCAL_VARIABLES", wanted)
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", line_info)
    many_variables.device_caches.clear()
    return many_variables.warmup(tl.float32, tl.float32, 7, 256, grid=(1,), **options)


def variables(llir: str) -> dict[str, set[str]]:
    """Name → its types, as text."""
    nodes = dict(re.findall(r"^(!\d+) = (.*)$", llir, re.M))
    found: dict[str, set[str]] = {}
    for name, kind in re.findall(r'!DILocalVariable\(name: "(\w+)".*type: (!\d+)\)', llir):
        found.setdefault(name, set()).add(nodes[kind])
    return found


def test_variables_are_named_with_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    llir = compiled(monkeypatch, "1").asm["llir"]
    found = variables(llir)
    assert {"pid", "offsets", "total", "loaded", "short", "small", "half", "wide", "twice"} <= found.keys()
    assert found["pid"] == {'!DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)'}
    assert found["wide"] == {'!DIBasicType(name: "int", size: 64, encoding: DW_ATE_signed)'}
    assert found["twice"] == {'!DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)'}
    assert any("size: 64, flags: DIFlagVector" in kind for kind in found["total"])
    assert any("DW_TAG_pointer_type" in kind for kind in found["loaded"])
    assert "emissionKind: FullDebug" in llir


def test_registers_of_a_tensor_are_named_after_it_where_they_are_computed_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    llir = compiled(monkeypatch, "1").asm["llir"]
    assert not any("!DIBasicType" in kind for kind in variables(llir)["loaded"])


def test_a_variable_of_an_inlined_function_stands_in_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    llir = compiled(monkeypatch, "1").asm["llir"]
    variable = re.search(r'(!\d+) = !DILocalVariable\(name: "half"', llir)
    assert variable is not None
    place = re.search(rf"#dbg_value\(.*, {variable[1]}, !DIExpression\(\), (!\d+)\)", llir)
    assert place is not None
    assert re.search(rf"^{place[1]} = distinct !DILocation\(.*inlinedAt: !\d+\)", llir, re.M)


@pytest.mark.parametrize(("wanted", "line_info"), [("0", "0"), ("1", "1"), ("0", "1")])
def test_nothing_is_said_unless_asked_for(monkeypatch: pytest.MonkeyPatch, wanted: str, line_info: str) -> None:
    kernel = compiled(monkeypatch, wanted, line_info)
    assert "dbg_value" not in kernel.asm["llir"] and "DILocalVariable" not in kernel.asm["llir"]
    assert ", debug\n" not in kernel.asm["ptx"] and ".debug_loc\n" not in kernel.asm["ptx"]
    assert "local-variables" not in kernel.metadata.pipeline and "keep-debug" not in kernel.metadata.pipeline


def instructions(ptx: str) -> list[str]:
    """What is executed: lines between braces, without labels, comments, line numbers and the numbers of blocks."""
    body = "\n".join(re.findall(r"^\{$(.*?)^\}$", ptx, re.M | re.S))
    lines = (re.sub(r"//.*", "", line).strip() for line in body.split("\n"))
    return [line for line in lines if line and not line.startswith((".loc", "$L__tmp", "$L__func"))]


def test_no_instruction_is_another_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, debug = (compiled(monkeypatch, wanted).asm["ptx"] for wanted in "01")
    assert instructions(plain) == instructions(debug)
    assert ", debug\n" in debug and ".section\t.debug_info" in debug


def test_a_debugger_is_told_where_scalars_are(monkeypatch: pytest.MonkeyPatch) -> None:
    ptx = compiled(monkeypatch, "1").asm["ptx"]
    for name in ("pid", "wide"):
        letters = "".join(f".b8 {ord(letter)}\n" for letter in name)
        assert f"{letters}.b8 0" in ptx
    assert re.search(r"\.section\t\.debug_loc\n\t\{\n\$L__debug_loc0:\n\.b64 \$L__tmp\d+", ptx)


def test_a_kernel_with_variables_runs_on_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(monkeypatch, "1")
    out = np.zeros(257, np.float32)
    kernel = many_variables[(1,)](X, out, 5, 256)
    assert out[256] == 30
    assert "dbg_value" in kernel.asm["llir"]
