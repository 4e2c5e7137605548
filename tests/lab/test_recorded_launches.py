"""What a program passes to its kernels is written down, and taken up again by every command that runs a kernel."""

from __future__ import annotations

import enum
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from explorer_pages import inflated

import minitriton as triton
import minitriton.language as tl
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer import kept_answers
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import open_program
from minitriton.lab.launches.recorded import launches_in, read_launch
from minitriton.lab.launches.recorder import Noted, Recorder
from minitriton.lab.launches.replay import SpannedMemory, array_in, laid_out
from minitriton.tools.tensor_descriptor import TensorDescriptor

PROGRAM = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, out_ptr, stride, n, factor, BLOCK: tl.constexpr, DTYPE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n)
    tl.store(out_ptr + row * stride + at, (x * factor).to(DTYPE), mask=at < n)

x = np.arange(6 * 64, dtype=np.float32).reshape(6, 64)
out = np.zeros_like(x)
for _ in range(3):
    scale[lambda meta: (6,)](x, out, 64, 50, 2.0, BLOCK=64, DTYPE=tl.float32, num_warps=2)
scale[(5,)](x[1:, 3:], x[1:, 3:], 64, 40, 0.5, BLOCK=64, DTYPE=tl.float32)
print("the program's own words")
raise SystemExit(7 if float(out[5, 49]) != 738 else 0)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "minitriton", "record", "--json", "--out", str(folder / "out"), str(folder / "program.py")],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    words, told = done.stdout.splitlines()
    assert words == "the program's own words"
    found = json.loads(told)
    assert found["launches"] == 4 and [one["kernel"] for one in found["recorded"]] == ["scale", "scale"]
    return folder / "out"


def launch_of(folder: Path, **more: Any) -> Any:
    return open_program(CompileRequest(read_launch(folder).reference, launch=str(folder), **more)).launch()


def test_a_launch_is_taken_up_with_its_types_options_grid_and_inputs(recorded: Path) -> None:
    program = open_program(
        CompileRequest(read_launch(recorded / "000-scale").reference, launch=str(recorded / "000-scale"))
    )
    assert program.options.num_warps == 2 and program.source.attrs.keys() == {(0,), (1,), (2,)}
    launch = program.launch()
    x, out, stride, n, factor = launch.arguments.values
    assert launch.grid == (6, 1, 1) and (stride, n, factor) == (64, 50, 2.0)
    assert x.tolist() == np.arange(384, dtype=np.float32).reshape(6, 64).tolist() and not out.any()


def test_views_of_one_memory_stay_so_and_keep_their_alignment(recorded: Path) -> None:
    launch = launch_of(recorded / "001-scale")
    x, out = launch.arguments.values[:2]
    assert x.shape == (5, 61) and x.strides == (256, 4) and np.shares_memory(x, out)
    assert x.__array_interface__["data"][0] % 16 == 12
    assert x[0, :3].tolist() == [67, 68, 69]


def test_numbers_grid_and_arrays_are_taken_in_place_of_recorded_ones(recorded: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "inputs.npz", x_ptr=np.ones(384, np.float32))
    folder = recorded / "000-scale"
    launch = launch_of(folder, numbers=("stride=63", "n=4"), grid="2", inputs=str(tmp_path / "inputs.npz"))
    assert launch.grid == (2,) and launch.arguments.values[2:4] == [63, 4] and (launch.arguments.values[0] == 1).all()
    program = open_program(CompileRequest(read_launch(folder).reference, launch=str(folder), numbers=("stride=63",)))
    assert (2,) not in program.source.attrs, "63 is not divisible by 16"
    with pytest.raises(MinitritonError, match="lacks an argument 'rows'"):
        launch_of(folder, numbers=("rows=3",))
    with pytest.raises(MinitritonError, match="has 1 elements"):
        np.savez(tmp_path / "inputs.npz", x_ptr=np.ones(1, np.float32))
        launch_of(folder, inputs=str(tmp_path / "inputs.npz"))


def test_every_command_takes_a_launch(
    recorded: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They are the same for every page, and take long; another process makes them.
    monkeypatch.setattr(kept_answers, "lessons_with_answers", str)
    folder = str(recorded / "000-scale")
    assert main(["run", "--launch", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["arrays"]["out_ptr"]["first"] == [0, 2, 4, 6, 8, 10]
    assert main(["run", folder]) == 0
    assert "grid 6x1x1" in capsys.readouterr().out
    assert main(["check", "--launch", folder, "--reproducers", str(tmp_path)]) == 0
    assert "none wrong" in capsys.readouterr().out
    assert main(["diff", "--launch", folder]) == 0
    assert "tritongpu-coalesce" in capsys.readouterr().out
    program = read_launch(folder).file
    assert main(["explain", f"{program}:10", "--launch", str(recorded / "001-scale")]) == 0
    assert "1 (4 bytes) at a time" in capsys.readouterr().out
    assert main(["explore", str(recorded), "--html", str(tmp_path / "page.html")]) == 0
    assert inflated(tmp_path / "page.html").count('"kernel":"scale"') == 2
    assert main(["sweep", folder, "--count", "1"]) == 0
    assert "1 right" in capsys.readouterr().out


def test_a_launch_stands_in_links_and_command_lines(recorded: Path) -> None:
    asked = CompileRequest(read_launch(recorded / "000-scale").reference, launch=str(recorded / "000-scale"))
    assert f"--launch {recorded / '000-scale'}" in asked.command() and CompileRequest.of_code(asked.code()) == asked


def test_of_several_launches_one_is_to_be_named(recorded: Path) -> None:
    assert [path.name for path in launches_in(recorded)] == ["000-scale", "001-scale"]
    with pytest.raises(MinitritonError, match="holds 2 recorded launches"):
        read_launch(recorded)
    with pytest.raises(MinitritonError, match="holds no recorded launches"):
        read_launch(recorded / "000-scale" / "nothing")


def test_what_was_damaged_is_said(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "launch.json").write_text("{")
    with pytest.raises(MinitritonError, match=r"cannot read .*launch\.json"):
        read_launch(tmp_path)
    (tmp_path / "launch.json").write_text((recorded / "000-scale" / "launch.json").read_text())
    (tmp_path / "arrays.npz").write_bytes(b"nothing")
    with pytest.raises(MinitritonError, match=r"cannot read .*arrays\.npz"):
        launch_of(tmp_path)


@triton.jit
def double(x):
    return x * 2


@triton.jit
def tiled(desc, out, pair, FN: tl.constexpr, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    x = desc.load([tl.program_id(0) * BLOCK, 0])
    at = tl.arange(0, BLOCK)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(out + tl.program_id(0) * BLOCK * 32 + at, FN(x) + pair[0] + pair[1])


def record_tiled(folder: Path, **more: Any) -> tuple[list[Noted], np.ndarray]:
    x = np.random.default_rng(1).random((64, 32), np.float32)
    with Recorder(folder, **more) as recorder:
        tiled[(4,)](TensorDescriptor.from_tensor(x, [16, 32]), np.zeros_like(x), (3, 1.5), double, 16, 2)
    return recorder.recorded, x


def test_descriptors_tuples_and_functions_are_recorded(tmp_path: Path) -> None:
    recorded, x = record_tiled(tmp_path)
    assert [(one.kernel, one.why) for one in recorded] == [("tiled", "")] and recorded[0].folder is not None
    launch = read_launch(recorded[0].folder)
    program = open_program(CompileRequest(launch.reference, launch=str(launch.folder)))
    assert program.options.num_warps == 2 and program.source.constants[(3,)].__name__ == "double"
    names = [one.name for one in program.launch().arguments.passed]
    assert names == ["desc", "out", "pair[0]", "pair[1]"]
    assert np.array_equal(program.launch().arguments.values[0].base, x)


@triton.jit
def _softmax(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x_ptr + i) - tl.max(tl.load(x_ptr + i), 0))
    tl.store(out_ptr + i, e / tl.sum(e, 0))


def test_the_number_of_warps_that_a_launch_chooses_is_recorded(tmp_path: Path) -> None:
    x = np.ones(32768, np.float32)
    with Recorder(tmp_path) as recorder:
        kernel = _softmax[(1,)](x, np.empty_like(x), BLOCK=32768)
        _softmax[(1,)](x, np.empty_like(x), BLOCK=32768, num_warps=4)
    found = [read_launch(one.folder).options for one in recorder.recorded if one.folder]
    assert found == [{"num_warps": 8, "choose_warps": True}, {"num_warps": 4}] and kernel.metadata.num_warps == 8


def test_large_arrays_are_left_out_and_made_up(tmp_path: Path) -> None:
    recorded, x = record_tiled(tmp_path, most_bytes=8192)
    assert len(recorded[0].left_out) == 1
    launch = read_launch(recorded[0].folder or "")
    values = open_program(CompileRequest(launch.reference, launch=str(launch.folder))).launch().arguments.values
    made = values[0].base if recorded[0].left_out == ("desc",) else values[1]
    assert made.shape == x.shape and not np.array_equal(made, x) and 0.5 < made.std() < 2


def test_kernels_that_no_file_names_are_kept_as_ir(tmp_path: Path) -> None:
    @triton.jit
    def inner(x, n, B: tl.constexpr):
        at = tl.arange(0, B)
        tl.store(x + at, at, mask=at < n)

    with Recorder(tmp_path) as recorder:
        inner[(1,)](np.zeros(64, np.int32), 50, 64)
    launch = read_launch(recorder.recorded[0].folder or "")
    assert launch.reference.endswith("kernel.ttir")
    again = open_program(CompileRequest(launch.reference, launch=str(launch.folder))).launch()
    assert again.arguments.values[1] == 50 and again.arguments.values[0].size == 64


class Mode(enum.Enum):
    FAST = 3


def test_a_launch_that_no_file_can_hold_is_said_and_runs_all_the_same(tmp_path: Path) -> None:
    out = np.zeros(4, np.int32)

    @triton.jit
    def holds(x, MODE: tl.constexpr):
        tl.store(x + tl.arange(0, 4), 3 + tl.arange(0, 4))

    with Recorder(tmp_path) as recorder:
        holds[(1,)](out, Mode.FAST)
    assert recorder.recorded[0].folder is None and "cannot be written" in recorder.recorded[0].why
    assert out.tolist() == [3, 4, 5, 6]


class Window(NamedTuple):
    pointer: Any
    length: int


@triton.jit
def windowed(window, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE.length)
    tl.store(out + at, tl.load(window.pointer + at, mask=at < window.length, other=0.0))


def test_named_tuples_are_recorded_with_their_names(tmp_path: Path) -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with Recorder(tmp_path) as recorder:
        windowed[(1,)](Window(x, 50), out, Window("here", 64))
    launch = read_launch(recorder.recorded[0].folder or "")
    program = open_program(CompileRequest(launch.reference, launch=str(launch.folder)))
    assert [one.name for one in program.launch().arguments.passed] == ["window[0]", "window[1]", "out"]
    assert main(["check", "--launch", str(launch.folder)]) == 0


@triton.jit
def fill_at(address, SIZE: tl.constexpr):
    tl.store(tl.load(address).to(tl.pointer_type(tl.float32)) + tl.arange(0, SIZE), 1.0)


def test_a_launch_that_reaches_memory_by_addresses_is_said(tmp_path: Path) -> None:
    out = np.zeros(64, np.float32)
    with Recorder(tmp_path) as recorder:
        fill_at[(1,)](np.array([out.ctypes.data]), 64)
    assert recorder.recorded[0].folder is None and "'address' holds addresses" in recorder.recorded[0].why
    assert (out == 1).all()


@triton.jit
def touch(x_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x_ptr + at, at.to(tl.float32), mask=at < n)


def test_only_the_kernels_asked_for_and_at_most_so_many(tmp_path: Path) -> None:
    with Recorder(tmp_path, frozenset({"tiled"})) as other:
        touch[(1,)](np.zeros(16, np.float32), 16, 16)
    assert other.launches == 0
    with Recorder(tmp_path, each=2, most_launches=3) as recorder:
        for n in (5, 5, 5, 6, 7):
            touch[(1,)](np.zeros(16, np.float32), n, 16)
    assert recorder.launches == 5 and len(recorder.recorded) == 3


def test_an_import_ends_at_the_launch_of_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import numpy as np\nimport triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, B: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, B), 1.0)\n\nk[(1,)](np.zeros(16, np.float32), 16)\nraise RuntimeError('too far')\n"
    )
    assert main(["compile", f"{file}:k", "--signature", "*fp32,16", "--emit", "ttir"]) == 0
    assert main(["compile", str(file), "--signature", "*fp32,16", "--emit", "ttir"]) == 1, "no kernel is named"


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (7, 5)])
def test_memory_of_any_shape_comes_back(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).random(shape)
    memory = SpannedMemory.of({"x": array, "flipped": array[..., ::-1] if shape else array}, 1 << 20)
    places = laid_out(memory.spans)
    for name, bytes_ in places.items():
        bytes_[...] = memory.contents[name]
    for name, wanted in (("x", array), ("flipped", array[..., ::-1] if shape else array)):
        view = memory.views[name]
        assert np.array_equal(array_in(places[view.span], view, array.dtype), wanted)


def test_a_store_notices_that_a_launch_was_recorded_again(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(recorded / "000-scale", tmp_path / "launch")
    command = ["sweep", str(folder), "--count", "1", "--store", str(tmp_path / "s.db")]
    assert [main(command), main(command)] == [0, 0]
    (folder / "launch.json").write_text(replace(read_launch(folder), grid=(5, 1, 1)).text())
    assert main(command) == 1
    assert "with another signature, launch or source" in capsys.readouterr().err


UNGUARDED = """
import argparse, sys
import triton
import triton.language as tl

@triton.jit
def one(x):
    tl.store(x, 1)

END

@triton.jit
def other(x):
    tl.store(x, 2)
"""


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("sys.exit(3)", "SystemExit: 3"),
        ("raise AssertionError('Torch not compiled with CUDA enabled')", "Torch not compiled with CUDA enabled"),
        ("argparse.ArgumentParser().parse_args()", ""),
        ("assert sys.argv == [__file__], sys.argv", ""),
    ],
)
def test_a_program_without_a_guard_may_end_behind_the_kernel(
    end: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "unguarded.py"
    path.write_text(UNGUARDED.replace("END", end))
    arguments = list(sys.argv)
    assert main(["compile", f"{path}:one", "--signature", "*i32", "--emit", "ttir"]) == 0
    assert sys.argv == arguments
    out, err = capsys.readouterr()
    assert "@one" in out and said in err and bool(err) == bool(said)
    if said:
        assert f"{path}:10: warning: " in err
        assert main(["compile", f"{path}:other", "--signature", "*i32", "--emit", "ttir"]) == 1
        assert f"{path}:10: error: {path} cannot be imported: " in capsys.readouterr().err
