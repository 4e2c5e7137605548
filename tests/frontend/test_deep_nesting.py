"""What is nested deeper than Python's stack compiles; what is too deep for any stack is an error with a place."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton
from minitriton.host import deep_stack
from minitriton.host.deep_stack import NestedTooDeep, on_deep_stack


def kernel_of(source: str, folder: Path) -> Any:
    """`kernel` of a module with this source."""
    path = folder / "deep.py"
    path.write_text(f"import minitriton as triton\nimport minitriton.language as tl\n\n{source}")
    spec = importlib.util.spec_from_file_location("deep", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def result(kernel: Any, n: int) -> int:
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, n)
    return int(out[0])


def sum_of(terms: int) -> str:
    return (
        "@triton.jit\ndef kernel(out, n):\n    tl.store(out, n" + "".join(f" + n * {i}" for i in range(terms)) + ")\n"
    )


def functions_that_call_each_other(count: int) -> str:
    bodies = [f"f{i + 1}(x) + 1" for i in range(count - 1)] + ["x + 1"]
    functions = "".join(f"@triton.jit\ndef f{i}(x):\n    return {body}\n\n" for i, body in enumerate(bodies))
    return functions + "@triton.jit\ndef kernel(out, n):\n    tl.store(out, f0(n))\n"


def calls_inside_of_calls(depth: int) -> str:
    called = "f(" * depth + "n" + ")" * depth
    return (
        f"@triton.jit\ndef f(x):\n    return x + 1\n\n@triton.jit\ndef kernel(out, n):\n    tl.store(out, {called})\n"
    )


def branches_in_turn(count: int) -> str:
    chain = "".join(f"    elif n == {i}:\n        x = {i * 3}\n" for i in range(1, count))
    return f"@triton.jit\ndef kernel(out, n):\n    x = n\n    if n == 0:\n        x = 5\n{chain}    tl.store(out, x)\n"


def test_a_sum_of_500_terms(tmp_path: Path) -> None:
    assert result(kernel_of(sum_of(500), tmp_path), 7) == 7 + 7 * sum(range(500))


def test_a_hundred_functions_that_call_each_other_in_turn(tmp_path: Path) -> None:
    assert result(kernel_of(functions_that_call_each_other(100), tmp_path), 7) == 107


def test_calls_and_branches_inside_of_each_other(tmp_path: Path) -> None:
    assert result(kernel_of(calls_inside_of_calls(80), tmp_path), 7) == 87
    assert result(kernel_of(branches_in_turn(60), tmp_path), 31) == 93


def test_what_no_stack_is_deep_enough_for_is_an_error_with_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep_stack, "_STACK_BYTES", (1 << 20,))
    kernel = kernel_of(sum_of(700), tmp_path)
    with pytest.raises(NestedTooDeep, match="nested too deep to be compiled") as raised:
        result(kernel, 7)
    assert raised.value.location is not None and raised.value.location.line == 5
    assert "assign parts of long expressions to variables" in str(raised.value)


def test_the_limit_of_recursion_is_put_back() -> None:
    limit = sys.getrecursionlimit()

    def down(depth: int) -> int:
        return 0 if depth == 0 else 1 + down(depth - 1)

    assert on_deep_stack(lambda: down(5 * limit), "a function") == 5 * limit
    assert sys.getrecursionlimit() == limit
    with pytest.raises(minitriton.TritonError):
        on_deep_stack(lambda: down(10**7), "a function")
