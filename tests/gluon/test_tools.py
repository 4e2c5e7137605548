"""Whatever takes a kernel of `tl` takes one in Gluon: commands, recorded launches, the interpreter, the explorer, Triton's side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton.commands.cli import main
from minitriton.commands.inferred_signature import inferred_signature
from minitriton.errors import MinitritonError
from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.language.nvidia.ampere import async_copy
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import open_program
from minitriton.explorer.session import ExplorerSession
from minitriton.explorer.triton_reference import triton_recording
from minitriton.lab.call import check_call, with_passes
from minitriton.lab.corpus.case import load_file
from minitriton.lab.launches.recorded import read_launch
from minitriton.lab.launches.recorder import Recorder

KERNEL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

@gluon.jit
def total(x, out, BLOCK: gl.constexpr, layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])):
    i = gl.arange(0, BLOCK, layout=layout)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_copy_global_to_shared(buffer, x + i)
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(out + i, gl.sum(buffer.load(layout), 0) + i)
"""
SIGNATURE = ["--signature", "*fp32:16,*fp32:16,BLOCK=512"]
LAUNCH = """
import numpy as np
x, out = np.ones(512, np.float32), np.zeros(512, np.float32)
total[(1,)](x, out, 512)
assert out[3] == 515
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("gluon") / "kernel.py"
    file.write_text(KERNEL)
    return f"{file}:total"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["run"], "shared memory: "),
        (["check"], "total: 31 steps, none wrong"),
        (["diff"], "gluon-inline"),
        (["sweep", "--count", "2"], "2 right"),
        (["compile", "--emit", "pipeline"], "gluon-inline"),
        (["compile", "--emit", "ptx"], "cp.async.cg.shared.global"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_command_takes_it(command: list[str], expected: str, kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command[0], kernel, *SIGNATURE, *command[1:]]) == 0
    assert expected in capsys.readouterr().out


def test_a_line_is_explained(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", kernel.replace("total", "10"), *SIGNATURE]) == 0
    assert "4 (16 bytes) at a time" in capsys.readouterr().out


def test_a_launch_is_recorded_and_checked(kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(KERNEL + LAUNCH)
    record = [sys.executable, "-m", "minitriton", "record", "--json", "--out", str(tmp_path / "out"), str(program)]
    done = subprocess.run(record, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and json.loads(done.stdout)["launches"] == 1, done.stderr
    assert main(["check", "--launch", str(tmp_path / "out" / "000-total")]) == 0
    assert "none wrong" in capsys.readouterr().out


def test_a_recorded_kernel_without_its_file_is_opened_from_its_ir(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KERNEL)
    total: Any = load_file(program, "minitriton").total
    with Recorder(tmp_path) as recorder:
        total[(1,)](np.ones(512, np.float32), np.zeros(512, np.float32), 512)
    program.unlink()
    launch = read_launch(recorder.recorded[0].folder or "")
    opened = open_program(CompileRequest(launch.reference, launch=str(launch.folder)))
    assert opened.pipeline().steps[0].name == "gluon-inline" and opened.launch().arguments.values[0].size == 512


def test_the_explorer_shows_the_layout_where_it_is_declared(kernel: str) -> None:
    asked = {"asked": {"source": kernel, "signature": SIGNATURE[1]}}
    answer = ExplorerSession().answer("compile", asked)
    assert [step["name"] for step in answer["steps"]][:2] == ["frontend", "gluon-inline"]
    text = json.dumps(answer["states"][answer["steps"][0]["state"]]["text"])
    assert "sizePerThread = [4]" in text and "#ttg.swizzled_shared" in text


def test_a_pass_is_put_into_the_pipeline_of_a_kernel() -> None:
    x, layout = np.ones(128, np.float32), gl.BlockedLayout([1], [32], [4], [0])
    pipeline = with_passes({"gluon-inline": "cse"}, kernel=staged)
    assert [step.name for step in pipeline.steps[:2]] == ["gluon-inline", "cse"]
    assert check_call(staged, [x, x.copy(), layout, True], (1,), pipeline=pipeline).ok
    with pytest.raises(MinitritonError, match="lacks pass 'gluon-inline'"):
        with_passes({"gluon-inline": "cse"})


@gluon.jit
def counted(values, bins, n, BLOCK: gl.constexpr, layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])):
    i = gl.arange(0, BLOCK, layout)
    where = bins + gl.load(values + i, mask=i < n, other=0)
    gl.atomic_add(where, 1)


@gluon.jit
def of_large_blocks(values, BLOCK: gl.constexpr):
    gl.static_assert(BLOCK > 500, "only blocks of 512")
    gl.store(values + gl.arange(0, BLOCK, gl.BlockedLayout([1], [32], [4], [0])), 0.0)


def test_a_signature_that_nobody_gave_is_read_off_the_body_and_said_where_it_does_not_fit() -> None:
    signature = f"values=*i32:16,bins=*fp32:16,n=i32,BLOCK=128,layout={counted.params[4].default}"
    assert inferred_signature(counted).text == signature
    assert ExplorerSession().answer("compile", {"asked": {"source": f"{__file__}:counted"}})["steps"]
    with pytest.raises(MinitritonError, match="only blocks of 512") as caught:
        ExplorerSession().answer("compile", {"asked": {"source": f"{__file__}:of_large_blocks"}})
    given = "they were guessed, --signature 'values=*fp32:16,BLOCK=128'"
    assert caught.value.help is not None and given in caught.value.help


def test_types_of_descriptors_and_of_what_is_copied_are_read_off_the_body() -> None:
    tile = "tensordesc<fp16[64, 64],NVMMASharedLayout(128, 16, 2)>"
    found = inferred_signature(load_file("minitriton_kernels/gluon/persistent_matmul.py", "minitriton").matmul_tiles)
    assert found.fits and found.text.startswith(f"a={tile},b={tile},c={tile},k=i32,STAGES=2")
    assert inferred_signature(staged).text.startswith("x=*fp32:16,out=*fp32:16,")


@pytest.mark.oracle
def test_triton_compiles_the_same_kernel(kernel: str) -> None:
    pytest.importorskip("triton")
    request = CompileRequest(kernel, signature=SIGNATURE[1])
    steps = triton_recording(open_program(request)).steps
    assert any("cp.async" in step.after.text for step in steps)


@gluon.jit
def staged(x, out, layout: gl.constexpr, WAITS: gl.constexpr, COPIES: gl.constexpr = True):
    i = gl.arange(0, 128, layout=layout)
    buffer = gl.allocate_shared_memory(gl.float32, [128], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    if COPIES:
        async_copy.async_copy_global_to_shared(buffer, x + i)
        async_copy.commit_group()
    if WAITS:
        async_copy.wait_group(0)
    gl.store(out + i, buffer.load(layout) + 1)


def test_the_interpreter_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    staged[(1,)](x, out, gl.BlockedLayout([1], [32], [4], [0]), True)
    np.testing.assert_array_equal(out, x + 1)


@pytest.mark.parametrize(
    ("copies", "message"),
    [(True, r"test_tools\.py:\d+:.*may still write it"), (False, r"test_tools\.py:\d+:.*nothing has written")],
)
def test_the_interpreter_reads_what_was_waited_for_alone(
    copies: bool, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    with pytest.raises(MinitritonError, match=message):
        staged[(1,)](x, out, gl.BlockedLayout([1], [32], [4], [0]), False, copies)
