"""A recording is data: damaged it is an error that names the file, and another user's runs no Python that it names."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minitriton import knobs
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import open_program
from minitriton.host import seals
from minitriton.host.damaged_files import DamagedFile
from minitriton.lab.arguments import read_arrays
from minitriton.lab.launches.recorded import read_launch
from minitriton.lab.launches.recorder import Recorder, save
from minitriton.lab.sweeping.references import references

KERNEL = """
import minitriton as triton
import minitriton.language as tl

@triton.jit
def add_one(x):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.load(x + i) + 1)
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A recording of the kernel in `kernels.py`."""
    from minitriton.commands.kernel_files import load_kernel

    (tmp_path / "kernels.py").write_text(KERNEL)
    kernel = load_kernel(f"{tmp_path / 'kernels.py'}:add_one")
    with Recorder(tmp_path / "recorded"):
        kernel[(1,)](np.arange(16, dtype=np.int32))
    return tmp_path / "recorded" / "000-add_one"


def opened(folder: Path) -> list[object]:
    return open_program(CompileRequest(read_launch(folder).reference, launch=str(folder))).launch().arguments.values


@pytest.fixture
def another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(tmp_path / "another" / "key"))


def test_of_another_users_recording_the_ir_is_taken_and_no_python_is_run(recorded: Path, another_user: None) -> None:
    (recorded.parents[1] / "kernels.py").write_text("raise SystemExit('this ran')\n")
    with pytest.warns(RuntimeWarning, match=r"recorded elsewhere: .*kernels.py is not run"):
        assert read_launch(recorded).reference == str(recorded / "kernel.ttir")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(np.asarray(opened(recorded)[0]), np.arange(16))
        assert references([str(recorded)])[0].task().source.ext == "ttir"
        assert main(["run", str(recorded)]) == 0


def test_a_trusted_folder_makes_it_ones_own(recorded: Path, another_user: None) -> None:
    for folder in (recorded, recorded.parents[1]):
        with knobs.runtime.scope():
            knobs.runtime.trusted = str(folder)
            assert read_launch(recorded).reference.endswith("kernels.py:add_one")


def test_a_file_that_was_edited_is_said(recorded: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_launch(recorded).reference.endswith("kernels.py:add_one")
    (recorded.parents[1] / "kernels.py").write_text(KERNEL + "# edited\n")
    with pytest.warns(RuntimeWarning, match="kernels.py has changed since .* was recorded"):
        read_launch(recorded)


def test_options_that_name_files_are_refused_from_another_user(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = replace(read_launch(recorded), options={"extern_libs": [["libdevice", "/dev/zero"]]})
    monkeypatch.setattr(seals, "_key", lambda name: b"")
    (recorded / "launch.json").write_text(launch.text())
    with pytest.raises(MinitritonError, match="recorded elsewhere, and its option extern_libs has files read"):
        read_launch(recorded)


@pytest.mark.parametrize("name", ["launch.json", "arrays.npz"])
def test_a_missing_file_is_an_error_and_not_made_up(recorded: Path, name: str) -> None:
    (recorded / name).unlink()
    with pytest.raises(MinitritonError, match=name if name == "arrays.npz" else "holds no recorded launches"):
        opened(recorded)


@pytest.mark.filterwarnings("ignore:.*was recorded elsewhere")
@pytest.mark.parametrize("name", ["launch.json", "arrays.npz"])
def test_any_bit_that_is_not_what_was_recorded_is_found(recorded: Path, name: str) -> None:
    content = (recorded / name).read_bytes()
    for at in range(0, len(content), max(1, len(content) // 40)):
        (recorded / name).write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            found = opened(recorded)
        except DamagedFile as error:
            assert str(recorded / name) in str(error)
        else:
            assert np.array_equal(np.asarray(found[0]), np.arange(16)), at


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("grid", ["x", 1, 1]), ("arguments", [{"name": 3}]), ("arguments", 7), ("spans", {"x": {"bytes": -1, "residue": 0, "kept": True}}),
        ("spans", {"x": {"bytes": 1 << 60, "residue": 0, "kept": False}}), ("signature", []), ("spans", {}), ("divisible", [["a"]]),
        ("constants", [[["x"], 1]]), ("options", 3), ("options", {"num_warps": [1]}), ("arguments", []), ("constants", [[[0], {"dtype": "x"}]]),
    ],
)  # fmt: skip
def test_a_description_that_nobody_recorded_is_an_error(recorded: Path, name: str, value: object) -> None:
    launch = read_launch(recorded)
    plain = json.loads(launch.text())
    del plain["checksum"], plain["seal"]
    from minitriton.lab.launches import recorded as module

    plain[name] = value
    digest = module._digest(plain)
    (recorded / "launch.json").write_text(
        json.dumps({**plain, "checksum": digest, "seal": seals.seal("launch", digest)})
    )
    with pytest.raises(MinitritonError):
        opened(recorded)


def test_a_file_of_arrays_is_read_within_bounds_and_without_objects(tmp_path: Path) -> None:
    save(tmp_path / "a.npz", {"x": np.arange(4, dtype=np.int16), "y/z": np.ones((2, 3), order="F")})
    found = read_arrays((tmp_path / "a.npz").read_bytes(), 1000)
    assert found["x"].tolist() == [0, 1, 2, 3] and found["y/z"].tolist() == np.ones((2, 3)).tolist()
    with pytest.raises(ValueError, match="of at most 42 bytes"):
        read_arrays((tmp_path / "a.npz").read_bytes(), 50)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (1 << 40,)})
        file.write(bytes(1 << 20))
    with pytest.raises(ValueError, match="an array of 1099511627776 bytes"):
        read_arrays(bomb.getvalue(), 1 << 30)
    np.savez(tmp_path / "b.npz", x=np.array([{}], dtype=object))
    with pytest.raises(ValueError):
        read_arrays((tmp_path / "b.npz").read_bytes(), 1000)


def test_a_recorder_that_is_stopped_leaves_no_folder_that_looks_like_a_recording(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minitriton.commands.kernel_files import load_kernel
    from minitriton.lab.launches import recorder

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder, "save", stop)
    kernel = load_kernel(f"{recorded.parents[1] / 'kernels.py'}:add_one")
    out = recorded.parents[1] / "again"
    with pytest.raises(KeyboardInterrupt), Recorder(out):
        kernel[(1,)](np.arange(16, dtype=np.int32))
    assert not list(out.iterdir())
