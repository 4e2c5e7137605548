"""What a page asks: compiles, edits of text at every stage, facts, widths, layouts, costs, verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitriton.errors import BrokenContract, MinitritonError, PipelineError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.failures import as_error
from minitriton.explorer.session import ExplorerSession
from minitriton.explorer.wire import Json
from minitriton.lab.corpus.case import KERNELS

SOFTMAX = CompileRequest(
    "minitriton_kernels/softmax.py:softmax", "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256",
    numbers=("n_rows=3", "n_cols=200", "in_stride=256", "out_stride=256"),
).plain()  # fmt: skip


@pytest.fixture(scope="module")
def session() -> ExplorerSession:
    return ExplorerSession()


@pytest.fixture(scope="module")
def softmax(session: ExplorerSession) -> dict[str, Any]:
    return session.answer("compile", {"asked": SOFTMAX})


def state(compile: dict[str, Any], step: int) -> dict[str, Any]:
    return compile["states"][compile["steps"][step]["state"]]


def step_of(compile: dict[str, Any], name: str) -> int:
    return next(at for at, step in enumerate(compile["steps"]) if step["name"] == name)


def last(compile: dict[str, Any], level: str) -> int:
    """The last step that left `level`."""
    return max(at for at in range(len(compile["steps"])) if state(compile, at)["level"] == level)


def edited(session: ExplorerSession, compile: dict[str, Any], step: int, old: str, new: str) -> dict[str, Any]:
    text = "\n".join(state(compile, step)["text"])
    assert old in text
    asked = {**SOFTMAX, "states": [{"after": step, "text": text.replace(old, new)}]}
    return session.answer("compile", {"asked": asked})


@pytest.mark.parametrize(
    ("level", "old", "new", "then"),
    [
        ("ttir", "math.exp ", "math.exp2 ", "ptx"),
        ("ttgir", "math.exp ", "math.exp2 ", "ptx"),
        ("llvm dialect", "arith.", "arith.", "ptx"),
        ("llir", "fsub", "fadd", "ptx"),
        ("ptx", "ex2.approx", "ex2.approx", "ptx"),
    ],
)
def test_text_of_every_stage_can_take_the_place_of_the_state(
    session: ExplorerSession, softmax: dict[str, Any], level: str, old: str, new: str, then: str
) -> None:
    step = last(softmax, level)
    if old not in "\n".join(state(softmax, step)["text"]):
        old = new = "module" if level == "llvm dialect" else ".visible"
    found = edited(session, softmax, step, old, new)
    assert [one["name"] for one in found["steps"] if one["edit"]] == ["edited"]
    assert found["steps"][-1]["error"] is None
    assert found["states"][-1]["level"] == then
    assert (found["states"][-1]["text"] != softmax["states"][-1]["text"]) == (old != new)


def test_an_edit_keeps_the_identity_and_the_place_of_what_it_leaves(
    session: ExplorerSession, softmax: dict[str, Any]
) -> None:
    found = edited(session, softmax, step_of(softmax, "tritongpu-coalesce"), "math.exp ", "math.exp2 ")
    at = step_of(found, "edited")
    counts = found["steps"][at]["counts"]
    assert (
        counts.get("changed", 0) + counts.get("removed", 0) == 1 and counts["same"] == len(state(found, at)["text"]) - 1
    )
    line = next(n for n, text in enumerate(state(found, at)["text"]) if "math.exp2" in text)
    assert state(found, at)["line"][line] == 14


def test_wrong_text_is_an_error_at_its_line(session: ExplorerSession, softmax: dict[str, Any]) -> None:
    with pytest.raises(MinitritonError) as raised:
        edited(session, softmax, step_of(softmax, "tritongpu-coalesce"), "math.exp %", "math.nothing %")
    assert (
        raised.value.location is not None and raised.value.location.file == "edited" and raised.value.location.line > 10
    )


def test_a_refused_order_says_why(session: ExplorerSession) -> None:
    asked = {**SOFTMAX, "edits": [["skip", "convert-triton-to-tritongpu"]]}
    with pytest.raises(PipelineError, match="needs"):
        session.answer("compile", {"asked": asked})


def test_a_narrow_load_names_what_limits_it_and_the_hint(session: ExplorerSession, softmax: dict[str, Any]) -> None:
    found = session.answer("inspect", {"asked": SOFTMAX, "step": last(softmax, "ttgir")})
    load = next(one for one in found["accesses"].values() if one["name"] == "tt.load")
    assert (load["width"], load["most"], load["limit"]) == (1, 4, "alignment")
    assert "in_stride" in load["reason"] and "tl.assume(in_stride % 16 == 0)" in load["hint"]
    assert [found["values"][name]["origin"] for name in load["chain"]][-2:] == ["arith.muli", "argument in_stride"]


def test_what_the_hint_promises_widens_the_load(session: ExplorerSession) -> None:
    wide = {
        **SOFTMAX,
        "signature": "*fp32:16,*fp32:16,i32:16,i32:16,i32,i32:16,BLOCK=512",
        "numbers": ["n_rows=3", "n_cols=256", "in_stride=512", "out_stride=512"],
    }
    compile = session.answer("compile", {"asked": wide})
    found = session.answer("inspect", {"asked": wide, "step": last(compile, "ttgir")})
    load = next(one for one in found["accesses"].values() if one["name"] == "tt.load")
    assert (load["width"], load["limit"]) == (4, "")


def test_a_run_counts_by_line_and_is_compared_with_another(session: ExplorerSession) -> None:
    text = Path("minitriton_kernels/softmax.py").read_text()
    changed = {
        **SOFTMAX,
        "kernel_text": text.replace(
            "numerator / tl.sum(numerator, axis=0)", "numerator / tl.sum(numerator, axis=0) + 1"
        ),
    }
    found = session.answer("run", {"asked": changed, "against": SOFTMAX})
    lines = {one["line"]: one for one in found["sources"]}
    assert lines[12]["requests"] > 0 and lines[12]["sectors_per_request"] > 0 and lines[13]["barriers"] > 0
    apart = found["arrays"]["out_ptr"]["apart"]
    assert apart["absolute"] == pytest.approx(1) and apart["differing"] == apart["beyond"] > 0
    assert found["arrays"]["in_ptr"]["apart"] == {"differing": 0}


def test_an_access_is_shown_by_program_and_warp(session: ExplorerSession, softmax: dict[str, Any]) -> None:
    step = last(softmax, "ttgir")
    load = next(
        one
        for one in session.answer("inspect", {"asked": SOFTMAX, "step": step})["accesses"].values()
        if one["name"] == "tt.load"
    )
    found = session.answer("pattern", {"asked": SOFTMAX, "step": step, "op": load["op"]})
    assert found["array"] == "in_ptr" and [one["program"] for one in found["programs"]] == [
        (0, 0, 0),
        (0, 0, 0),
        (1, 0, 0),
    ]
    first, second, _ = found["programs"]
    assert first["offsets"][:3] == (0, 1, 2) and second["offsets"][0] == 512 and first["offsets"][200:] == (None,) * 56
    assert first["warps"][:33] == (0,) * 32 + (1,)


def test_every_pass_has_a_verdict(session: ExplorerSession, softmax: dict[str, Any]) -> None:
    found = session.answer("check", {"asked": SOFTMAX})["steps"]
    assert [one["name"] for one in found] == [one["name"] for one in softmax["steps"]]
    assert all(one["ok"] for one in found)


def test_buffers_are_where_the_passes_put_them(session: ExplorerSession) -> None:
    asked = {"source": "exact_attention"}
    found = session.answer("buffers", {"asked": asked})
    assert found["buffers"] and all(one["offset"] + one["size"] <= found["total"] for one in found["buffers"])
    assert all(0 <= one["live"][0] < one["live"][1] <= found["ops"] for one in found["buffers"])
    for at, one in enumerate(found["buffers"]):
        for other in found["buffers"][:at]:
            together = one["live"][0] < other["live"][1] and other["live"][0] < one["live"][1]
            overlap = one["offset"] < other["offset"] + other["size"] and other["offset"] < one["offset"] + one["size"]
            assert not (together and overlap), (one, other)


def test_an_unknown_question_names_those_that_there_are(session: ExplorerSession) -> None:
    with pytest.raises(MinitritonError, match="lacks the service"):
        session.answer("shutdown", {})


def test_a_file_of_ir_can_be_run_and_checked_after_it_was_compiled(
    session: ExplorerSession, softmax: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "softmax.ttgir"
    file.write_text("\n".join(state(softmax, step_of(softmax, "tritongpu-coalesce"))["text"]))
    asked = {"source": str(file), "grid": "2"}
    assert session.answer("compile", {"asked": asked})["states"][-1]["level"] == "ptx"
    assert session.answer("run", {"asked": asked})["total"]["requests"] > 0
    assert all(one["ok"] for one in session.answer("check", {"asked": asked})["steps"])


@pytest.mark.parametrize("look", [("tritongpu-coalesce", 1000), ("emit-ptx", 1), ("frontend", 0), ("no such pass", 9)])
def test_after_an_edit_the_states_that_are_looked_at_are_printed_as_they_are_among_all(
    session: ExplorerSession, softmax: dict[str, Any], look: tuple[str, int]
) -> None:
    text, near = look
    near = min(near, len(softmax["steps"]) - 1)
    if text == "tritongpu-coalesce":
        near = step_of(softmax, text) + 2
    fresh = ExplorerSession(keeps=False)
    found: Any = fresh.answer("compile", {"asked": SOFTMAX, "look": [text, near]})
    shown = found["shown"]
    assert [step["text"] for step in found["steps"]] == [step["text"] for step in softmax["steps"]]
    assert shown == (near if text == "no such pass" else step_of(softmax, text))
    for at in {0, max(shown - 1, 0), shown}:
        columns = ("text", "op", "line", "defines", "uses", "ops")
        assert [state(found, at)[one] for one in columns] == [state(softmax, at)[one] for one in columns]
    assert found["steps"][shown]["rows"] == softmax["steps"][shown]["rows"]
    assert found["steps"][shown]["counts"] == softmax["steps"][shown]["counts"]
    assert sum(bool(one["text"]) for one in found["states"]) <= 3


def test_edited_ir_that_is_looked_at_is_printed(session: ExplorerSession, softmax: dict[str, Any]) -> None:
    at = last(softmax, "ttgir")
    text = "\n".join(state(softmax, at)["text"]).replace("math.exp ", "math.no_such_op ")
    asked = {**SOFTMAX, "states": [{"after": at, "text": text}]}
    with pytest.raises(MinitritonError):
        session.answer("compile", {"asked": asked, "look": ["edited", at]})
    text = "\n".join(state(softmax, at)["text"])
    asked = {**SOFTMAX, "states": [{"after": at, "text": text}]}
    found: Any = ExplorerSession(keeps=False).answer("compile", {"asked": asked, "look": ["edited", at]})
    assert found["steps"][found["shown"]]["edit"] and state(found, found["shown"])["text"]


def test_what_contracts_refuse_can_be_run_anyway_and_what_breaks_is_named(session: ExplorerSession) -> None:
    asked = CompileRequest("exact_attention", edits=(("skip", "insert-barriers"),))
    with pytest.raises(BrokenContract, match="needs: barriers placed") as caught:
        session.answer("compile", {"asked": asked.plain()})
    assert as_error(caught.value)["error"].get("contract") is True
    anyway = replace(asked, anyway=True)
    assert "--anyway" in anyway.command() and CompileRequest.of_code(anyway.code()) == anyway
    found: Any = session.answer("compile", {"asked": anyway.plain()})
    assert found["steps"][-1]["error"] is None
    verdicts: Any = session.answer("check", {"asked": anyway.plain()})
    broken = [one for one in verdicts["steps"] if not one["ok"]]
    assert [one["name"] for one in broken] == ["convert-triton-gpu-to-llvm"]
    assert broken[0]["lacks"] == ["insert-barriers"]
    assert "networks.py:278" in broken[0]["why"] and "without a barrier between" in broken[0]["why"]
    with pytest.raises(MinitritonError, match="true or false"):
        CompileRequest.of_plain({**anyway.plain(), "anyway": "yes"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arch": "abc"}, "`arch` is a whole number"),
        ({"signature": 5}, "`signature` is a text"),
        ({"seed": [1]}, "`seed`"),
    ],
)
def test_a_state_of_wrong_types_is_refused_where_it_is_read(given: dict[str, Json], message: str) -> None:
    with pytest.raises(MinitritonError, match=message):
        CompileRequest.of_plain({"source": "x", **given})


HELPER = """import triton
import triton.language as tl

@triton.jit
def activation(x):
    return tl.where(x > 0, x, 0.1 * y)

@triton.jit
def first(x_ptr):
    at = tl.arange(0, 128)
    tl.store(x_ptr + at, activation(tl.load(x_ptr + at)))
"""


def test_an_error_in_a_function_that_the_kernel_calls_is_shown_at_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "first.py"
    path.write_text(HELPER)
    with pytest.raises(MinitritonError) as raised:
        ExplorerSession().answer("compile", {"asked": {"source": f"{path}:first"}})
    said = as_error(raised.value)["error"]
    assert said.get("line") == 6 and said.get("file") == str(path)
    assert "first.py:11:" in said["text"] and "first.py:6:" in said["text"], "the call is said, too"


def test_what_the_kernel_itself_does_wrong_is_said_of_it_not_of_a_pass(tmp_path: Path) -> None:
    file = tmp_path / "sums.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef sums(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + i, mask=i < n)\n"
        "    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, axis=0))\n"
    )
    found = ExplorerSession().answer("check", {"asked": CompileRequest(f"{file}:sums", grid="2").plain()})
    assert all(one["ok"] for one in found["steps"] if one)
    poison, race, doubt = found["kernel"]
    assert f"{file}:9:" in poison and "give that load `other=`" in poison
    assert "global-race" in race and "inputs were made up" in doubt
    assert ExplorerSession().answer("check", {"asked": SOFTMAX})["kernel"] == []


def test_a_kernel_that_leaves_its_arrays_is_a_verdict_at_its_line(session: ExplorerSession) -> None:
    text = (KERNELS / "vector_add.py").read_text()
    unmasked = text.replace("tl.load(x_ptr + offsets, mask=mask)", "tl.load(x_ptr + offsets)")
    line = next(number for number, code in enumerate(unmasked.splitlines(), 1) if "tl.load(x_ptr + offsets)" in code)
    types = "*fp32:16,*fp32:16,*fp32:16,i32:16,BLOCK=1024"
    asked = CompileRequest(
        f"{KERNELS / 'vector_add.py'}:vector_add", types, grid="2", numbers=("n=2000",), sizes=("x_ptr=2000",)
    )
    assert all(one["ok"] for one in session.answer("check", {"asked": asked.plain()})["steps"])
    found = session.answer("check", {"asked": replace(asked, kernel_text=unmasked).plain()})
    (stopped,) = found["steps"]
    assert not stopped["ok"] and stopped["name"] == f"the kernel: line {line}"
    assert "outside every array" in stopped["why"] and "check the mask" in stopped["why"]
