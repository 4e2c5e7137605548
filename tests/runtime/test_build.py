"""C modules of programs: built once, found again, built anew where the cached file is broken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.build import compile_module_from_src

SOURCE = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "mt_answer", NULL, -1, methods};
PyMODINIT_FUNC PyInit_mt_answer(void) { return PyModule_Create(&definition); }
"""

needs_compiler = pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("clang")), reason="no C compiler")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def broken(name: str, src: str, srcdir: str, *others: object) -> str:
    output = Path(srcdir) / "out.so"
    output.write_text("no shared object")
    return str(output)


@needs_compiler
def test_a_module_is_built_once_and_again_if_its_file_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(ImportError):
        patch.setattr(knobs.build, "impl", broken)
        compile_module_from_src(SOURCE, "mt_answer")
    first = compile_module_from_src(SOURCE, "mt_answer")
    assert first.answer() == 42
    monkeypatch.setattr(knobs.build, "impl", broken)
    again = compile_module_from_src(SOURCE, "mt_answer")
    assert again.__file__ == first.__file__


@needs_compiler
def test_a_wrong_source_is_refused_with_the_compiler_s_words() -> None:
    with pytest.raises(MinitritonError, match=r"cannot build 'mt_wrong'.*error"):
        compile_module_from_src("int f( {", "mt_wrong")


def test_a_program_can_build_by_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[object] = []

    def build(name: str, src: str, srcdir: str, *others: object) -> str:
        given.extend([name, Path(src).read_text(), others])
        built = Path(srcdir) / "out.so"
        built.write_bytes(b"")
        return str(built)

    monkeypatch.setattr(knobs.build, "impl", build)
    with pytest.raises(ImportError):
        compile_module_from_src("source", "mt_other", ["lib"], ["include"], ["m"])
    assert given == ["mt_other", "source", (["lib"], ["include"], ["m"])]
