"""Kernels of the corpus by what they do, and files of one's own beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.corpus.case import KERNELS, load_file
from minitriton.lab.sweeping.references import references
from minitriton.lab.sweeping.store import Store, compiler_name

OWN = """
import triton
import triton.language as tl
from minitriton.lab.corpus.case import collector, f32, normal

CASES, case = collector(__file__)

@case(inputs=lambda rng: [normal(rng, 128), f32(128)], expected=lambda x, *_: {{1: x + {by}}}, BLOCK=128)
@triton.jit
def {name}(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + {by})
"""


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(corpus, "_added", [])
    for folder, name, by in (("a", "plus_one", 1), ("b", "plus_two", 2), ("c", "running_sums", 3)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "reducing.py").write_text(OWN.format(name=name, by=by))
    return tmp_path


@pytest.mark.oracle
@pytest.mark.parametrize("compiler", ["minitriton", "triton"])
def test_a_kernel_of_another_file_comes_from_the_same_compiler(compiler: str) -> None:
    if compiler == "triton":
        pytest.importorskip("triton")
    clusters, shapes = (load_file(KERNELS / "families" / f"{name}.py", compiler) for name in ("clusters", "shapes"))
    assert clusters.gather_in_rows is shapes.gather_in_rows
    assert type(shapes.gather_in_rows).__module__.split(".")[0] == compiler


def test_a_further_case_of_a_kernel_has_a_name_of_its_own() -> None:
    case, first = corpus.find("more_stages_than_iterations"), corpus.find("pipelined_sum")
    assert case.kernel == first.kernel == "pipelined_sum" and case.constexprs != first.constexprs
    assert corpus.ops(case.name) == corpus.ops(first.name)


def test_names_of_kernels_are_different() -> None:
    names = corpus.names()
    assert len(names) == len(set(names)) >= 206


def test_kernels_are_chosen_by_their_ops(capsys: pytest.CaptureFixture[str]) -> None:
    dots = corpus.having("tt.dot", "scf.for")
    assert "tiled_dot" in dots
    assert "running_sums" not in dots
    assert corpus.ops("tiled_dot")["tt.dot"] == 1
    assert [one.kernel for one in references(["@tt.dot+scf.for"])] == dots
    assert main(["corpus", "@tt.dot+scf.for"]) == 0
    assert capsys.readouterr().out.split() == dots
    assert main(["corpus", "tiled_dot"]) == 0
    assert "1 tt.dot\n" in capsys.readouterr().out
    with pytest.raises(MinitritonError, match=r"no kernel of the corpus has tt\.nothing") as raised:
        corpus.having("tt.nothing")
    assert "tt.dot" in str(raised.value)


def test_files_called_like_others_are_read_themselves(own_files: Path) -> None:
    for folder in "ab":
        corpus.add(own_files / folder / "reducing.py")
    assert {"plus_one", "plus_two", "cube_sums"} <= set(corpus.names())
    files = tuple(str(own_files / folder / "reducing.py") for folder in "ab")
    assert lab.sweep(references(["plus_one", "plus_two"], files=files), count=1).counts() == {"right": 2}


def test_a_kernel_whose_name_is_taken_is_refused(own_files: Path) -> None:
    with pytest.raises(MinitritonError, match=r"kernel 'running_sums', and so has scanning\.py"):
        corpus.add(own_files / "c" / "reducing.py")


def test_a_bisection_that_shows_nothing_says_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    own = str(corpus.task("running_product").pipeline())
    assert main(["bisect", "running_product", "--pipeline", own, "--more", "instructions"]) == 1
    said = capsys.readouterr().err
    assert "is right, instructions" in said
    assert "default pipeline has instructions" in said


def test_records_of_another_launch_or_an_edited_kernel_are_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = tmp_path / "own.py", str(tmp_path / "s.db")
    text = OWN.format(name="own_plus", by=1)
    file.write_text(text)
    command = ["sweep", f"{file}:own_plus", "--grid", "1", "--count", "1", "--store", store, "--signature"]
    assert main([*command, "*fp32:16,*fp32:16,BLOCK=128"]) == 0
    assert main([*command, "*fp32:16,*fp32:16,BLOCK=128"]) == 0
    assert main([*command, "*fp32:16,*fp32:16,BLOCK=256"]) == 1
    assert "with another signature, launch or source" in capsys.readouterr().err
    file.write_text(text.replace("+ 1)", "+ 3)"))
    assert main([*command, "*fp32:16,*fp32:16,BLOCK=128"]) == 1


PASS = """
from dataclasses import dataclass
from minitriton.pipeline.pass_registry import Pass, register_pass

@register_pass
@dataclass(frozen=True)
class Nothing(Pass):
    name = "test-does-nothing"
    def apply(self, ctx, op):
        return False  # {0}
"""


def test_a_store_notices_that_files_of_passes_changed_and_that_a_kernel_was_only_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passes, store = tmp_path / "passes.py", str(tmp_path / "s.db")
    passes.write_text(PASS.format(1))
    command = ["sweep", "running_product", "--count", "1", "--store", store, "--load", str(passes)]
    assert main(command) == 0
    assert main([*command, "--compile-only"]) == 1
    passes.write_text(PASS.format(2))
    assert main(command) == 1
    assert "other files of passes" in capsys.readouterr().err


def test_modules_that_a_kernels_file_imports_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    own = OWN.format(name="helped", by="added(0.0)").replace(
        "CASES, case", "from helping import added\n\nCASES, case", 1
    )
    (tmp_path / "own.py").write_text(own.replace("1: x + added(0.0)", "1: x"))
    helper = "import triton\n\n@triton.jit\ndef added(x):\n    return x + {0}.0\n"
    signature = "*fp32:16,*fp32:16,BLOCK=128"
    command = [sys.executable, "-m", "minitriton", "sweep", f"{tmp_path / 'own.py'}:helped", "--grid", "1"]
    command += ["--count", "1", "--store", str(tmp_path / "s.db"), "--signature", signature]
    codes: list[int] = []
    for by in (1, 1, 27):
        (tmp_path / "helping.py").write_text(helper.format(by))
        codes.append(subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False).returncode)
    assert codes == [0, 0, 1]


def test_of_two_launches_of_one_name_that_begin_at_once_one_is_refused(tmp_path: Path) -> None:
    file, path = tmp_path / "own.py", tmp_path / "s.db"
    file.write_text(OWN.format(name="own_plus", by=1))
    command = [sys.executable, "-m", "minitriton", "sweep", f"{file}:own_plus", "--grid", "1", "--count", "40"]
    running = [
        subprocess.Popen([*command, "--store", str(path), "--signature", f"*fp32:16,*fp32:16,BLOCK={block}"])
        for block in (128, 256)
    ]
    assert sorted(process.wait() for process in running) == [0, 1]
    (kernel,) = Store(path, compiler_name()).kernels().values()
    chosen = "128" if "BLOCK=128" in kernel[0] else "256"
    own = lab.sweep(
        references([f"{file}:own_plus"], signature=f"*fp32:16,*fp32:16,BLOCK={chosen}", grid=(1,)), count=40
    )
    assert {r.program for r in Store(path, compiler_name()).records()} == {r.program for r in own.records}
