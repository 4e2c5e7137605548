"""What tensors hold at any op: the interpreter runs the state's module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.session import ExplorerSession
from minitriton.explorer.values import held_values, shown_numbers, values_of

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def cube(x_ptr, out_ptr, n):
    i = tl.arange(0, 64)
    total = tl.zeros((64,), tl.float32)
    for row in range(0, n):
        total += tl.load(x_ptr + (tl.program_id(0) * n + row) * 64 + i)
    box = total.reshape(2, 4, 8)
    tl.store(out_ptr + tl.program_id(0) * 32 + tl.arange(0, 32), tl.sum(box, axis=0).reshape(32))
"""


class Looked:
    """A compile whose values are asked for by a piece of the line that makes them."""

    def __init__(self, folder: Path) -> None:
        (folder / "cube.py").write_text(KERNEL)
        x = np.arange(2 * 3 * 64, dtype=np.float32)
        x[70] = np.nan
        np.savez(folder / "given.npz", x_ptr=x)
        self.x = x.reshape(2, 3, 64)
        self.asked = CompileRequest(
            f"{folder}/cube.py:cube", "*fp32,*fp32,i32", numbers=("n=3",), inputs=f"{folder}/given.npz"
        )
        self.session = ExplorerSession()
        self.recording = self.session.opened(self.asked).recording

    def step(self, level: str) -> int:
        return max(at for at, one in enumerate(self.recording.steps) if one.after.level == level and one.changed)

    def name(self, step: int, text: str) -> str:
        return next(
            line.defines[0] for line in self.recording.steps[step].after.lines if text in line.text and line.defines
        )

    def values(self, step: int, name: str, **more: Any) -> dict[str, Any]:
        given = {"asked": self.asked.plain(), "step": step, "name": name, "program": 0, "run": 0, "index": [], **more}
        return self.session.answer("values", given)


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Looked:
    return Looked(tmp_path_factory.mktemp("values"))


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_each_iteration_of_each_program_is_seen_at_each_level(looked: Looked, level: str) -> None:
    step = looked.step(level)
    name = looked.name(step, "tt.load")
    found = looked.values(step, name, program=1, run=2)
    assert found["data"] == looked.x[1, 2].tolist()
    assert (found["runs"], found["run"], found["programs"], found["shape"]) == (3, 2, 2, [64])
    first = looked.values(step, name, run=1)
    assert first["strange"] == 1 and first["data"][70 - 64] == "nan" and first["least"] == 64.0


def test_of_three_axes_a_slice_is_shown(looked: Looked) -> None:
    step = looked.step("ttir")
    name = looked.name(step, "tt.reshape")
    found = looked.values(step, name, program=1, index=[1])
    assert (found["shape"], found["index"], found["rows"]) == ([2, 4, 8], [1], 4)
    assert found["data"] == looked.x[1].sum(0)[32:].tolist()
    assert looked.values(step, name, index=[9])["index"] == [1]


def test_what_a_loop_carries_is_seen_where_it_is_taken(looked: Looked) -> None:
    step = looked.step("ttir")
    add = next(line for line in looked.recording.steps[step].after.lines if "arith.addf" in line.text)
    carried = next(name for name in add.uses if name.startswith("arg") or "_" in name)
    found = looked.values(step, carried, program=1, run=1)
    assert found["data"] == looked.x[1, 0].tolist()


def test_pointers_are_elements_of_their_array(looked: Looked) -> None:
    step = looked.step("ttgir")
    pointer = next(line for line in looked.recording.steps[step].after.lines if "tt.load" in line.text).uses[0]
    found = looked.values(step, pointer, program=1, run=1)
    assert found["array"] == "x_ptr" and found["data"] == list(range(4 * 64, 5 * 64))


def test_what_cannot_be_seen_says_why(looked: Looked) -> None:
    ttir, last = looked.step("ttir"), len(looked.recording.steps) - 1
    for step, name, more, text in (
        (ttir, "nosuch", {}, "lacks a value %nosuch"),
        (ttir, looked.name(ttir, "tt.load"), {"program": 7}, "unknown program 7"),
        (last, "0", {}, "TTIR and TTGIR"),
    ):
        with pytest.raises(MinitritonError, match=text):
            looked.values(step, name, **more)


def test_a_file_holds_all_tensors_and_the_arrays(looked: Looked) -> None:
    step = looked.step("ttgir")
    kept = looked.recording.steps[step].after.kept
    assert kept is not None
    held = held_values(kept, looked.session.opened(looked.asked).program.launch())
    load = held["values"][looked.name(step, "tt.load")]
    assert load["data"] == looked.x[0, 0].tolist() and load.get("of") == 3
    assert len([one for one in held["values"].values() if one["shape"]]) > 5
    before, after = held["arrays"]["x_ptr"]
    assert before["data"] == after["data"] and before["shape"] == [2 * 3 * 64] and before["strange"] == 1
    first, last = held["arrays"]["out_ptr"]
    assert first["data"] != last["data"] and len(last["data"]) == 64


def test_what_is_large_is_thinned_evenly(looked: Looked) -> None:
    shown = shown_numbers(np.arange(128 * 64, dtype=np.float32).reshape(128, 64), (), 1024, thins=True)
    assert shown["every"] == [4, 2] and shown["rows"] == 32 and shown["shape"] == [128, 64]
    assert shown["data"][:3] == [0.0, 2.0, 4.0] and shown["data"][32] == 4 * 64
    assert shown_numbers(np.arange(4096), (), 1024, thins=True)["every"] == [1, 4]


def test_a_dot_in_flight_holds_what_it_will_have_given() -> None:
    signature = "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,BM=64,BN=64,BK=64"
    asked = CompileRequest(
        "minitriton_kernels/lessons/tour.py:matmul", signature, numbers=("m=64", "n=64", "k=128"), grid="1"
    )
    session = ExplorerSession()
    opened = session.opened(asked)
    last = [one.after for one in opened.recording.steps if one.after.level == "ttgir"][-1]
    assert last.kept is not None
    name = next(
        line.defines[0] for line in last.lines if "warp_group_dot" in line.text and "isAsync = true" in line.text
    )
    held = held_values(last.kept, opened.program.launch())
    assert held["arrays"] and held["values"][name]["shape"] == [64, 64] and held["values"][name]["most"] > 0
    assert values_of(last.kept, name, opened.program.launch())["most"] == held["values"][name]["most"]
