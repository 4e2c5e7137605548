"""The explorer in a terminal: what a line's facts are, layouts as text, counts by line; plain in a pipe, JSON everywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from minitriton import emulator
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer import run_command
from minitriton.explorer.execution import Ran, counts_by_line
from minitriton.explorer.explain_command import kernel_at
from minitriton.explorer.layout_command import banks, holders
from minitriton.explorer.layout_facts import layout_fact, read_encoding
from minitriton.explorer.resources_command import is_instruction
from minitriton.explorer.terminal import background, painted
from minitriton.lab.execution import Launch, Level, Outcome
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.pipeline.pass_registry import Property
from minitriton.target import GPUTarget

SOFTMAX = "minitriton_kernels/softmax.py"
SIGNATURE = "*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=256"
BLOCKED = "blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
TALL = "blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>"
SHARED = "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = %d, order = [1, 0]}>"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_a_line_is_explained_with_its_limit_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "explain", f"{SOFTMAX}:12", "--signature", SIGNATURE)
    assert "tt.load of 4-byte elements: 1 (4 bytes) at a time, of at most 4" in text
    assert "tl.assume(in_stride % 16 == 0)" in text and "arith.muli:12 <- %arg2 argument in_stride" in text
    assert "\x1b" not in text


def test_the_width_of_a_split_mask_is_that_of_whole_vectors(capsys: pytest.CaptureFixture[str]) -> None:
    signature = "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=1024"
    text = said(capsys, "explain", "minitriton_kernels/vector_add.py:11", "--signature", signature)
    assert "tt.load of 4-byte elements: 4 (16 bytes) at a time, as wide as can be" in text
    assert "where the mask ends within one of these vectors, a branch moves its elements one by one" in text


def test_an_explanation_is_there_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "explain", f"{SOFTMAX}:12", "--signature", SIGNATURE, "--json"))
    assert found["accesses"][0]["limit"] == "alignment"
    assert {one["origin"] for one in found["values"]} == {"arith.muli", "tt.addptr", "tt.splat", "tt.load"}


def test_a_line_of_which_nothing_is_left_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{SOFTMAX}:1", "--signature", SIGNATURE]) == 1
    error = capsys.readouterr().err
    assert "nothing is left of line 1" in error and "12, " in error
    with pytest.raises(MinitritonError, match="in no kernel"):
        kernel_at("minitriton_kernels/matmul.py", 1)


MATMUL = (
    "minitriton_kernels/families/hopper.py:39",
    "--signature",
    "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,M=64,N=64,K=64",
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("        mov.u32         %r1, %ctaid.x;", True), ("@%p1 bra $L__BB0_2;", True), ("    ret;", True), ("$L__BB0_2:", False), (".reg .b32 %r<5>;", False),
        ("// demand: x", False), ("}", False), ("", False), ("    @!P0 LDG.E R2, [R4.64] ;", True), (".L_x_0:", False), ("    EXIT ;", True),
        ("v_add_u32_e32 v1, v2, v3   // 000000001", True), ("s_endpgm", True), (".LBB0_1:", False), (".amdgcn_target \"amdgcn\"", False),
    ],
)  # fmt: skip
def test_instructions_are_told_from_other_lines(line: str, expected: bool) -> None:
    assert is_instruction(line) is expected


def test_what_a_kernel_takes_is_said_next_to_tritons(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("triton")
    columns = json.loads(said(capsys, "explain", "running_sums", "--triton", "--json"))["resources"]
    assert list(columns) == ["minitriton", "Triton 3.6.0"]
    for taken in columns.values():
        assert 16 < taken["registers a thread"] < 256 and taken["bytes of shared memory a block"] == 8192
        assert taken["bytes spilled"] == 0 and taken["warps a block"] == 4
        assert 100 < taken["instructions of PTX"] < 600 and 100 < taken["instructions of SASS"] < 600
    text = said(capsys, "explain", f"{SOFTMAX}:softmax", "--signature", SIGNATURE)
    assert "softmax for cuda:90" in text and re.search(r"registers a thread +\d+\n", text)
    assert "scalar registers" in said(capsys, "explain", "running_sums", "--arch", "gfx942")


LAUNCHED = """
import numpy as np
import triton
import triton.language as tl


@triton.jit
def centred(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x - tl.max(x, 0))


if __name__ == "__main__":
    x = np.zeros(32768, np.float32)
    centred[(1,)](x, x.copy(), BLOCK=32768)
"""


def test_warps_of_a_kernel_are_those_that_its_launch_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "centred.py"
    file.write_text(LAUNCHED)
    text = said(capsys, "explain", f"{file}:centred")
    assert re.search(r"warps a block +8\n", text) and "8 warps are chosen: with the default of 4," in text
    line = 1 + LAUNCHED.splitlines().index("    x = tl.load(x_ptr + i)")
    assert "tensor<32768xf32>" in said(capsys, "explain", f"{file}:{line}")
    given = said(capsys, "explain", f"{file}:centred", "--option", "num_warps=16")
    assert re.search(r"warps a block +16\n", given) and "are chosen" not in given


def test_a_kernel_that_imports_minitriton_is_compared_with_tritons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("triton")
    file = tmp_path / "centred.py"
    file.write_text(
        LAUNCHED.replace("import triton\nimport triton.", "import minitriton as triton\nimport minitriton.")
    )
    signature = ("--signature", "*fp32:16,*fp32:16,BLOCK=32768", "--option", "choose_warps=True")
    text = said(capsys, "explain", f"{file}:centred", "--triton", *signature)
    assert re.search(r"warps a block +8 +4\n", text) and "8 warps are chosen: with the default of 4," in text


def test_lines_and_kernels_have_their_own_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "running_sums", "--in-flight"]) == main(["explain", f"{SOFTMAX}:12", "--triton"]) == 1
    assert "names no line" in (errors := capsys.readouterr().err) and "compares whole kernels" in errors


POINTERS = "*fp16:16,*fp16:16,*fp32:16,i32,i32,i32:16,i32:16,1,i32:16,1,i32:16,BM=64,BN=64,BK=32,GROUP=8,ACC=fp32"


def test_what_is_in_flight_is_said_for_each_op_that_changes_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "explain", *MATMUL, "--in-flight").splitlines()
    dot = next(line for line in lines if "ttng.warp_group_dot %" in line)
    result = re.search(r"(%\w+) = ttng", dot)
    assert result is not None and dot.startswith("  39 >")
    assert dot.endswith(f"dots {result[1]}(i-1), {result[1]}") and re.search(r"copies %\w+\[i\+1 mod 3\]", dot)
    wait = lines[lines.index(dot) + 1]
    assert "leaves 1" in wait and wait.endswith(f"dots {result[1]}")
    copies = [line for line in lines if "async_tma_copy_global_to_local" in line and "[i+2 mod 3]" in line]
    assert len(copies) == 2 and copies[1].count("i+2 mod 3") == 3
    store = next(line for line in lines if "async_tma_store_wait" in line)
    assert store.endswith("leaves 0")


@pytest.mark.parametrize("stages", [3, 4])
def test_copies_in_flight_are_in_slots_one_after_the_other(capsys: pytest.CaptureFixture[str], stages: int) -> None:
    kernel = ("minitriton_kernels/matmul.py:32", "--signature", POINTERS, "--option", f"num_stages={stages}")
    lines = said(capsys, "explain", *kernel, "--in-flight", "--arch", "80").splitlines()
    copies = [line for line in lines if "async_copy_global_to_local" in line and "mod" in line]
    assert copies
    for line in copies:
        op, in_flight = line.split("|")
        slots = re.findall(r"\[i(?:\+(\d))? mod (\d)\]", in_flight)
        positions, own = [int(position or 0) for position, _ in slots], re.search(r"\[i(?:\+(\d))? mod", op)
        assert len(slots) == stages - 1 and own is not None and positions[-1] == int(own[1] or 0)
        assert positions == [(positions[0] + n) % int(slots[0][1]) for n in range(stages - 1)]


def test_what_is_in_flight_is_there_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "explain", *MATMUL, "--in-flight", "--json"))
    assert {tuple(row) for row in found} == {("line", "depth", "text", "in_flight", "is_asked")}
    assert any("tensor_copy" in row["text"] or "async_tma_copy" in row["text"] for row in found)


def test_lines_lead_to_the_kernel_around_them() -> None:
    assert kernel_at(SOFTMAX, 12) == kernel_at(SOFTMAX, 1) == "softmax"


@pytest.mark.parametrize("text", [BLOCKED, TALL, SHARED % 8])
@pytest.mark.parametrize("shape", [(16, 32), (64, 64)])
def test_every_element_is_drawn_where_the_layout_has_it(text: str, shape: tuple[int, int]) -> None:
    encoding = read_encoding(text)
    found = layout_fact(encoding, shape).homes()
    layout = to_linear_layout(encoding, shape)
    for row in range(0, shape[0], 5):
        for column in range(0, shape[1], 3):
            place = layout.apply({dim: int(numbers[row, column]) for dim, numbers in found.items()})
            assert tuple(place.values()) == (row, column)


def test_banks_follow_from_offsets() -> None:
    plain = layout_fact(read_encoding(SHARED % 1), (32, 32))
    assert (holders(plain, 32, "bank")[:, 0] == 0).all()
    swizzled = layout_fact(read_encoding(SHARED % 32), (32, 32))
    assert sorted(holders(swizzled, 32, "bank")[:, 0]) == list(range(32))
    assert banks(plain, np.array([0, 1, 2, 3, 64]), 16).tolist() == [0, 0, 1, 1, 0]


def test_a_way_through_shared_memory_says_what_conflicts_cost(capsys: pytest.CaptureFixture[str]) -> None:
    column = "blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>"
    bad = said(capsys, "layout", column, "--shape", "32x32", "--to", SHARED % 1)
    good = said(capsys, "layout", column, "--shape", "32x32", "--to", SHARED % 32)
    assert "32 times the passes" in bad and "32 times" not in good and "no conflicts" in good


def test_a_conversion_says_its_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing moves" in said(capsys, "layout", BLOCKED, "--shape", "16x32", "--to", BLOCKED)
    text = said(capsys, "layout", BLOCKED, "--shape", "32x32", "--to", TALL)
    assert "bytes of shared memory" in text and "barrier" in text


def test_layouts_are_there_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "layout", BLOCKED, "--shape", "16x32", "--json"))
    assert found["layouts"][0]["holders"]["thread"][0][:5] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("arguments", [("nothing<{}>", "16x16"), (BLOCKED, "16y16"), (BLOCKED, "3x5"), (BLOCKED, "16")])
def test_what_is_no_layout_is_an_error(arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", arguments[0], "--shape", arguments[1]]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_run_shows_what_each_line_cost(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("run", f"{SOFTMAX}:softmax", "--signature", SIGNATURE, "--arg", "n_rows=3")
    text = said(capsys, *arguments)
    line = next(line for line in text.splitlines() if "tl.load(" in line)
    assert float(line.split()[1]) > 3 and "requests" in text
    found = json.loads(said(capsys, *arguments, "--json"))
    assert found["total"]["requests"] == sum(one.get("requests", 0) for one in found["sources"])


def test_a_fault_is_shown_at_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, n, B: tl.constexpr):\n"
        "    at = tl.arange(0, B)\n    tl.store(x_ptr, tl.program_id(0))\n    tl.store(x_ptr + at, at, mask=at < n)\n"
    )
    status = main(["run", f"{file}:k", "--signature", "*i32,i32,B=64", "--grid", "4", "--arg", "n=8"])
    text = capsys.readouterr().out
    assert status == 1 and "global-race" in text


def test_a_fault_at_no_line_of_the_kernel_is_shown() -> None:
    ptx = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
.reqntid 32
{
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [x];
	st.global.u32 [%rd1+1024], 7;
	ret;
}
"""
    report = emulator.run(ptx, None, (1,), [np.zeros(4, np.int32)])
    ran = Ran((1,), 0.1, report, *counts_by_line(report, {}))
    assert "out-of-bounds" in run_command.text_of(ran, {}, colour=False, kernel="k")
    assert ran.plain({})["total"]["findings"] == ran.elsewhere != []


def test_colour_is_for_terminals_only() -> None:
    assert painted("a", "31", False) == "a" and painted("a", "31", True) == "\x1b[31ma\x1b[0m"
    assert len({background(number, 200) for number in range(200)}) == 200


def test_a_run_on_a_gpu_shows_what_the_arrays_hold_as_one_on_the_emulator_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Driver:
        def current_device(self) -> int:
            return 0

        def target(self, device: int) -> GPUTarget:
            return GPUTarget("cuda", 80, 32)

    def stands_for_the_gpu(launch: Launch, ptx: str) -> tuple[str, Outcome]:
        assert ".target sm_80" in ptx, "it is compiled for the device that is there"
        return "on a GPU", Outcome(Level.GPU, launch.run(ptx, frozenset({Property.PTX})).arrays)

    given = (
        "run",
        "minitriton_kernels/vector_add.py:vector_add",
        "--signature",
        "*fp32:16,*bf16:16,*fp32:16,i32,BLOCK=128",
    )
    emulated = json.loads(said(capsys, *given, "--arg", "n=200", "--json"))
    monkeypatch.setattr(run_command, "has_gpu", lambda: True)
    monkeypatch.setattr(run_command, "get_cuda_driver", Driver)
    monkeypatch.setattr(run_command, "run_on_gpu", stands_for_the_gpu)
    found = json.loads(said(capsys, *given, "--arg", "n=200", "--gpu", "--json"))
    assert found["device"] == "a GPU" and found["arrays"] == emulated["arrays"]
    assert " s on a GPU with copies\nx_ptr: " in said(capsys, *given, "--arg", "n=200", "--gpu")


def test_explain_says_what_heuristics_chose_and_how_to_take_another(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = "minitriton_kernels/vector_add.py:11"
    assert main(["explain", kernel, "--signature", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=1024"]) == 0
    text = capsys.readouterr().out
    assert "elements a thread of tt.load: 4, by tritongpu-coalesce{width=4}" in text
    assert "narrower than what is aligned" in text
    assert main(["explain", kernel, "--signature", "*fp32,*fp32,*fp32,i32,BLOCK=1024", "--json"]) == 0
    choice = json.loads(capsys.readouterr().out)["choices"][0]
    assert choice["taken"] == "1" and choice["option"] == "tritongpu-coalesce{width=@}"
