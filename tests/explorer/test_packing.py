"""A compile packed for a page holds all that it held, in less."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.packing import packed
from minitriton.explorer.session import ExplorerSession

COLUMNS = ("text", "op", "file", "line")


def unpacked_state(state: dict[str, Any], lines: dict[str, Any]) -> dict[str, Any]:
    at = state["at"]
    return {
        **{name: value for name, value in state.items() if name != "at"},
        **{name: [lines[name][one] for one in at] for name in COLUMNS},
        **{
            name: {str(n): lines[name][str(one)] for n, one in enumerate(at) if str(one) in lines[name]}
            for name in ("defines", "uses")
        },
    }


def unpacked_rows(runs: list[list[Any]]) -> list[list[Any]]:
    return [
        [kind, None if a is None else a + by, None if b is None else b + by, other]
        for kind, a, b, other, count in runs
        for by in range(count)
    ]


@pytest.mark.parametrize("kernel", ["log_sum_exp", "exact_attention"])
def test_what_is_packed_can_be_unpacked_and_is_less(kernel: str) -> None:
    whole = ExplorerSession().answer("compile", {"asked": CompileRequest(kernel).plain()})
    del whole["stamp"]  # of this process: all modules of tests that it has
    small = packed(whole)
    assert [unpacked_state(one, small["lines"]) for one in small["states"]] == whole["states"]
    assert [unpacked_rows(one["rows"]) for one in small["steps"]] == [one["rows"] for one in whole["steps"]]
    assert len(json.dumps(small)) < 0.7 * len(json.dumps(whole))
