"""Gluon kernels on the interpreter: numbers as NumPy's and the emulator's, and faults that no numbers show at their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor
from minitriton.lab.corpus.case import load_file
from minitriton.lab.launches.recorder import Recorder
from minitriton.language.gluon.layouts import BlockedLayout, NVMMASharedLayout

KERNELS: Any = load_file(Path(__file__).with_name("tool_kernels.py"), "minitriton")
EXAMPLES = Path(__file__).parents[2] / "minitriton_kernels" / "gluon"
WIDE = BlockedLayout([4], [32], [4], [0])


@pytest.fixture(params=["interpreter", "emulator"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What runs the launches."""
    monkeypatch.setenv("MINITRITON_INTERPRET", "1" if request.param == "interpreter" else "0")
    return request.param


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _softmax(x: np.ndarray) -> np.ndarray:
    above = np.exp(x - x.max(1, keepdims=True))
    return above / above.sum(1, keepdims=True)


def _blocks(x: np.ndarray) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(x, [16, 32], NVMMASharedLayout(128, 32, 2))


LAUNCHES: list[tuple[str, np.ndarray, Callable[[np.ndarray, np.ndarray], object], Callable[[np.ndarray], np.ndarray]]] = [
    ("copy", _floats(300), lambda x, out: KERNELS.copy[(1,)](x, out, 300, 512, WIDE), lambda x: x),
    ("copy_left_open", _floats(300), lambda x, out: KERNELS.copy_left_open[(1,)](x, out, 300, 512), lambda x: x),
    ("softmax", _floats(8, 100), lambda x, out: KERNELS.softmax[(2,)](x, out, 100, 128), _softmax),
    ("transpose", _floats(32, 32), lambda x, out: KERNELS.transpose[(1,)](x, out, 32), lambda x: x.T),
    ("background", _floats(256), lambda x, out: KERNELS.copy_in_background[(2,)](x, out, 128, True), lambda x: x),
    ("tma", _floats(32, 32), lambda x, out: KERNELS.copy_by_tma[(2,)](_blocks(x), _blocks(out)), lambda x: x),
    ("roles", _floats(128), lambda x, out: KERNELS.double_by_roles[(1,)](x, out, 1), lambda x: 2 * x),
]  # fmt: skip


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch[0])
@pytest.mark.usefixtures("level")
def test_numbers_are_those_of_numpy(launch: Any) -> None:
    _, x, run, expected = launch
    out = np.zeros_like(x)
    run(x, out)
    np.testing.assert_allclose(out, expected(x), rtol=1e-5)


@pytest.mark.parametrize("launch", ["copy_left_open", "tma", "roles"])
def test_a_launch_is_replayed_from_its_ir_with_the_passes_of_gluon(
    launch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, x, run, _ = next(each for each in LAUNCHES if each[0] == launch)
    with Recorder(tmp_path) as recorder:
        run(x, np.zeros_like(x))
    folder = recorder.recorded[0].folder
    assert main(["check", f"{folder}/kernel.gluon", "--launch", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "gluon-resolve-auto-encodings" in said and "none wrong" in said


@pytest.mark.parametrize("example", ["wgmma_matmul", "persistent_matmul", "async_matmul"])
def test_a_matmul_gives_what_the_emulator_gives(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums are exact: whole numbers."""
    file: Any = load_file(EXAMPLES / f"{example}.py", "minitriton")
    small = np.random.default_rng(0).integers(-3, 4, (2, 64, 64)).astype(np.float16)
    sizes = {"persistent_matmul": {}}.get(example, {"bm": 64, "bn": 64, "bk": 32})
    out = np.zeros((64, 64), np.float16)
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    file.matmul(small[0], small[1], out, **sizes)
    np.testing.assert_array_equal(out, small[0].astype(np.float32) @ small[1].astype(np.float32))


FAULTS: list[tuple[str, str, Callable[[np.ndarray], object]]] = [
    ("nothing has written", "buffer.load(ROW))", lambda x: KERNELS.read_too_early[(1,)](x)),
    ("may still write it", "buffer.load(ROW))", lambda x: KERNELS.copy_in_background[(1,)](x, x.copy(), 128, False)),
    ("waits", "mbarrier.wait(bar, 0)", lambda x: KERNELS.copy_by_tma[(1,)](_blocks(x), _blocks(x.copy()), 4096)),
    ("waits", "mbarrier.wait(full, 0)", lambda x: KERNELS.double_by_roles[(1,)](x, x.copy(), 2)),
]


@pytest.mark.parametrize(("what", "line", "run"), FAULTS)
def test_a_fault_is_an_error_at_its_line(
    what: str, line: str, run: Callable[[np.ndarray], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    with pytest.raises(MinitritonError) as caught:
        run(_floats(16, 32))
    assert what in caught.value.message and line in (caught.value.source_line or "") and caught.value.help
