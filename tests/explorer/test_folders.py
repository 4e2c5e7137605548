"""A cache folder of Triton's, or Inductor's output, is opened: a kernel for each that lies in it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from explorer_pages import inflated

from minitriton.commands.cli import main
from minitriton.commands.kernel_files import load_kernel
from minitriton.errors import MinitritonError
from minitriton.explorer import kept_answers
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import compiled_with, kernels_in
from minitriton.explorer.session import ExplorerSession

sys.path.insert(0, str(Path(__file__).parents[1] / "inductor"))

needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton's wheel")


def test_the_earliest_stage_of_each_kernel_is_taken_newest_first(tmp_path: Path) -> None:
    for at, (folder, name) in enumerate((("ab", "add.ttir"), ("ab", "add.ttgir"), ("triton/0/cd", "softmax.ttgir"))):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (at, at))
    assert [path.name for path in kernels_in(tmp_path)] == ["softmax.ttgir", "add.ttir"]


def test_a_folder_without_kernels_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MinitritonError, match=r"no \.ttir"):
        kernels_in(tmp_path)


@pytest.fixture(autouse=True)
def no_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same on every page, and take long; tests/browser walks through them."""
    monkeypatch.setattr(kept_answers, "lessons_with_answers", lambda *_: "")
    monkeypatch.setattr(kept_answers, "have_lessons", lambda: True)


def test_kernels_of_a_folder_stand_side_by_side_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signature = "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=128"
    for folder in ("ab", "cd"):
        (tmp_path / folder).mkdir()
        main(
            [
                "compile",
                "minitriton_kernels/vector_add.py:vector_add",
                "--signature",
                signature,
                "--emit",
                "ttir",
                "-o",
                str(tmp_path / folder / "add.ttir"),
            ]
        )
    out = tmp_path / "page.html"
    assert main(["explore", str(tmp_path), "--html", str(out)]) == 0
    assert inflated(out).count('"kernel":"vector_add"') == 2


COMPILE = """
import sys
sys.path.insert(0, {folder!r})
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
import {module} as module
triton.compile(
    ASTSource(fn=module.{kernel}, signature={signature!r}, constexprs={constants!r}, attrs={attrs!r}),
    target=GPUTarget("cuda", {arch}, 32), options={options!r},
)
"""


def compiled_by_triton(into: Path, variables: dict[str, str], **given: Any) -> None:
    """Has Triton's wheel compile a kernel, which leaves its cache in `into`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRITON_", "PYTHONPATH"))}
    environment = {**kept, "TRITON_CACHE_DIR": str(into), **variables}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE.format(**given)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr


def answers_of(path: Path, **asked: Any) -> dict[str, Any]:
    """What a page asks of a kernel: compile, run, verdicts, what is known of its last TTGIR."""
    session = ExplorerSession()
    question = {"asked": CompileRequest(str(path), **asked).plain()}
    compile = session.answer("compile", question)
    assert compile["steps"][-1]["error"] is None and compile["states"][-1]["level"] == "ptx"
    laid_out = max(at for at, one in enumerate(compile["steps"]) if compile["states"][one["state"]]["level"] == "ttgir")
    found = session.answer("inspect", {**question, "step": laid_out})
    assert found["accesses"] and found["layouts"]
    run = session.answer("run", question)
    verdicts = session.answer("check", question)["steps"]
    assert run["total"]["requests"] > 0 and all(one["ok"] for one in verdicts)
    return {**compile, "run": run}


@needs_triton
@pytest.mark.oracle
def test_a_cache_and_a_dump_of_tritons_are_opened_for_their_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    attrs = {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]}
    dump = {"TRITON_KERNEL_DUMP": "1", "TRITON_DUMP_DIR": str(tmp_path / "dump")}
    compiled_by_triton(
        tmp_path / "cache", dump, folder=str(Path("minitriton_kernels").resolve()), module="vector_add", kernel="vector_add",
        signature=types, constants={"BLOCK": 512}, attrs=attrs, arch=80, options={"num_warps": 8},
    )  # fmt: skip
    (cached,) = kernels_in(tmp_path / "cache")
    arch, options = compiled_with(cached)
    assert cached.suffix == ".ttir" and arch == 80 and options["num_warps"] == 8
    compile = answers_of(cached, numbers=("n=900",))
    assert compile["arch"] == 80 and compile["options"]["num_warps"] == 8
    # Its places are those of the kernel, which is shown.
    assert any(path.endswith("vector_add.py") for path in compile["files"])
    assert any(".reqntid 256" in line for line in compile["states"][-1]["text"])
    (dumped,) = kernels_in(tmp_path / "dump")
    answers_of(dumped)
    answers_of(dumped.with_suffix(".ttgir"))
    page = tmp_path / "page.html"
    assert main(["explore", str(tmp_path / "cache"), "--html", str(page)]) == 0
    assert '"arch":80' in inflated(page)
    capsys.readouterr()


@needs_triton
@pytest.mark.oracle
def test_an_output_folder_of_inductors_is_opened(tmp_path: Path) -> None:
    from families import sample

    # Inductor keeps kernels in TORCHINDUCTOR_CACHE_DIR/xy/*.py, and Triton's cache in TORCHINDUCTOR_CACHE_DIR/triton/0.
    kernel = next(one for one in sample() if one.name.startswith("poi") and not one.elements)
    (tmp_path / "cx").mkdir()
    (tmp_path / "cx" / "cxkernel.py").write_text(kernel.text)
    function = load_kernel(f"{tmp_path / 'cx' / 'cxkernel.py'}:triton_{kernel.name}")
    source, _, _ = function.source_of_call((*kernel.arrays.values(), *kernel.numbers), dict(kernel.constants))
    assert all(isinstance(kind, str) for kind in source.signature.values())
    compiled_by_triton(
        tmp_path / "triton" / "0", {}, folder=str(tmp_path / "cx"), module="cxkernel", kernel=f"triton_{kernel.name}", signature=dict(source.signature),
        constants=dict(source.constants), attrs=source.attrs, arch=90, options=dict(kernel.options),
    )  # fmt: skip
    (found,) = kernels_in(tmp_path)
    assert found.stem == f"triton_{kernel.name}"
    compile = answers_of(found, grid=",".join(map(str, kernel.grid[:1])))
    assert any(path.endswith("cxkernel.py") for path in compile["files"])


def test_what_was_compiled_for_amd_is_opened_for_it(tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text(
        '{"target": {"backend": "hip", "arch": "gfx942", "warp_size": 64}, "num_warps": 8}'
    )
    assert compiled_with(tmp_path / "k.ttir") == ("gfx942", {"num_warps": 8})
    (tmp_path / "k.json").write_text("{")
    assert compiled_with(tmp_path / "k.ttir") == (None, {})
