"""`breakpoint()` and `pdb.set_trace()` in a kernel on the interpreter: the debugger sees the kernel's line and its variables."""

from __future__ import annotations

import builtins
import pdb
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError


class Pair(NamedTuple):
    first: Any
    second: Any


@triton.jit
def doubled(v, WIDTH: tl.constexpr):
    w = v * 2
    breakpoint()
    return w


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    pair = Pair(v.to(tl.bfloat16), (n, 3))  # noqa: F841 (seen by the debugger)
    bits = i.to(tl.uint8) - 1  # noqa: F841
    if tl.program_id(0) == 1:
        breakpoint()
    tl.store(out + i, doubled(v, BLOCK))


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int, dict[str, Any]]]:
    """What a debugger finds where it stops: function, file, line and variables."""
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    found: list[tuple[str, str, int, dict[str, Any]]] = []

    def stop(frame: FrameType | None) -> None:
        assert frame is not None
        found.append((frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", lambda: stop(sys._getframe(1)))
    monkeypatch.setattr(pdb, "set_trace", lambda: stop(sys._getframe(1)))
    pdb.set_trace.__name__ = "set_trace"
    pdb.set_trace.__module__ = "pdb"
    return found


def test_the_debugger_stops_at_the_line_with_the_variables_as_arrays(
    frames: list[tuple[str, str, int, dict[str, Any]]],
) -> None:
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    triton.jit(kernel.fn)[(2,)](x, out, 5, 8)
    np.testing.assert_array_equal(out, 2 * x)
    assert [frame[0] for frame in frames] == ["doubled", "kernel", "doubled"]
    _, file, line, seen = frames[1]
    assert (file, line) == (__file__, kernel.fn.__code__.co_firstlineno + 7)
    np.testing.assert_array_equal(seen["v"], x)
    assert seen["x"] == x.ctypes.data
    assert (seen["n"], seen["BLOCK"], seen["program_id"]) == (5, 8, (1, 0, 0))
    np.testing.assert_array_equal(seen["pair"].first, x)
    assert seen["pair"].second == (5, 3)
    assert seen["bits"].dtype == np.uint8 and seen["bits"][0] == 255
    np.testing.assert_array_equal(frames[2][3]["w"], 2 * x)


@triton.jit
def imports_a_debugger(x, out):
    for k in range(2):
        import pdb; pdb.set_trace()  # fmt: skip  # noqa: E702, I001
        tl.store(out + k, tl.load(x + k))


@triton.jit
def calls_a_debugger(x, out):
    k = tl.load(x)
    pdb.set_trace()
    tl.store(out, k)


@pytest.mark.parametrize(("function", "stops"), [(imports_a_debugger, 2), (calls_a_debugger, 1)])
def test_a_debugger_may_be_called_by_its_name(
    function: Any, stops: int, frames: list[tuple[str, str, int, dict[str, Any]]]
) -> None:
    function[(1,)](np.ones(2, np.float32), np.zeros(2, np.float32))
    assert [frame[3]["k"] for frame in frames] == [0, 1][:stops] if stops == 2 else frames[0][3]["k"] == 1


def test_pdb_shows_the_kernel(tmp_path: Path) -> None:
    program = tmp_path / "debugged.py"
    program.write_text(
        "import numpy as np\nimport minitriton as triton\nimport minitriton.language as tl\n\n\n"
        "@triton.jit\ndef scale(x, N: tl.constexpr):\n    v = tl.load(x + tl.arange(0, N))\n    breakpoint()\n"
        "    tl.store(x + tl.arange(0, N), v * 2)\n\n\nscale[(1,)](np.ones(4, np.float32), 4)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], input="p float(v.sum()), N\nc\n", capture_output=True, text=True, check=True,
        env={"MINITRITON_INTERPRET": "1", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert "debugged.py" in done.stdout and "scale()" in done.stdout
    assert "(4.0, 4)" in done.stdout


def test_a_compiled_kernel_says_where_breakpoints_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "0")
    run: Callable[..., Any] = triton.jit(kernel.fn)[(1,)]
    with pytest.raises(MinitritonError) as raised:
        run(np.ones(8, np.float32), np.ones(8, np.float32), 5, 8)
    assert f"{__file__}:{kernel.fn.__code__.co_firstlineno + 7}:" in str(raised.value)
    assert "help: set TRITON_INTERPRET=1, or print by tl.device_print" in str(raised.value)


def test_a_local_function_in_place_of_breakpoint_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    calls: list[int] = []

    def resume() -> None:
        calls.append(1)

    monkeypatch.setattr(builtins, "breakpoint", resume)
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    triton.jit(kernel.fn)[(2,)](x, out, 5, 8)
    assert len(calls) == 3
