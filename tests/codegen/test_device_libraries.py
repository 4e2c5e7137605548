"""`extern_libs`: device functions from files of a program's own, and another libdevice."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.nvidia.device_library import find_libdevice
from minitriton.errors import MinitritonError
from minitriton.language.extra import libdevice

SCALE = """
target triple = "nvptx64-nvidia-cuda"
define float @scale(float %x) {{
  %y = call float @helper(float %x)
  ret float %y
}}
define internal float @helper(float %x) {{
  %y = fmul float %x, {factor}
  ret float %y
}}
define float @unused(float %x) {{
  ret float %x
}}
"""


@tl.core.extern
def scale(x, _semantic=None):
    return tl.extern_elementwise(
        "mine", "", [x], {(tl.float32,): ("scale", tl.float32)}, is_pure=True, _semantic=_semantic
    )


@triton.jit
def scaled(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, scale(tl.load(x + i)))


@triton.jit
def arcsine(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, libdevice.asin(tl.load(x + i)))


X = np.linspace(-1, 1, 128, dtype=np.float32)


def write_library(path: Path, factor: str) -> str:
    """A library whose function `scale` multiplies by `factor`."""
    text = SCALE.format(factor=factor)
    if path.suffix == ".bc":
        path.write_bytes(llvm.parse_assembly(text).as_bitcode())
    else:
        path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", ["mine.bc", "mine.ll", "with a space.bc"])
@pytest.mark.parametrize("as_pairs", [False, True])
def test_functions_come_from_the_files_of_extern_libs(tmp_path: Path, name: str, as_pairs: bool) -> None:
    libraries = {"mine": write_library(tmp_path / name, "2.0")}
    out = np.zeros_like(X)
    kernel = scaled[(1,)](X, out, 128, extern_libs=list(libraries.items()) if as_pairs else libraries)
    assert np.array_equal(out, 2 * X)
    assert "@unused" not in kernel.asm["llir"]


def test_a_library_that_has_changed_is_linked_anew(tmp_path: Path) -> None:
    out = np.zeros_like(X)
    for factor in (2, 3):
        path = write_library(tmp_path / "mine.bc", f"{factor}.0")
        scaled.device_caches.clear()
        scaled[(1,)](X, out, 128, extern_libs={"mine": path})
        assert np.array_equal(out, factor * X)


def test_the_library_replaces_libdevice(tmp_path: Path) -> None:
    path = tmp_path / "mine.ll"
    path.write_text(SCALE.format(factor="4.0").replace("@scale", "@__nv_asinf"))
    out = np.zeros_like(X)
    arcsine[(1,)](X, out, 128, extern_libs={"libdevice": str(path)})
    assert np.array_equal(out, 4 * X)


@pytest.mark.skipif(find_libdevice() is None, reason="no libdevice on this machine")
def test_libdevice_may_be_named_by_its_path() -> None:
    out = np.zeros_like(X)
    arcsine[(1,)](X, out, 128, extern_libs={"libdevice": str(find_libdevice())})
    assert np.allclose(out, np.arcsin(X), atol=1e-6)


def test_the_libraries_are_part_of_the_pipeline_s_text(tmp_path: Path) -> None:
    path = write_library(tmp_path / "mine.bc", "2.0")
    kernel = scaled.warmup(X, X, 128, grid=(1,), extern_libs={"mine": path})
    pipeline = kernel.metadata.pipeline
    assert f"libraries={path}" in pipeline
    again = scaled.warmup(X, X, 128, grid=(1,), pipeline=pipeline)
    assert again.asm["ptx"] == kernel.asm["ptx"]


def test_files_that_are_no_libraries_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.bc").write_text("no LLVM IR")
    (tmp_path / "broken.bc").write_bytes(b"BC\xc0\xde broken")
    for name, what in (("text.bc", "cannot read"), ("broken.bc", "cannot read"), ("none.bc", "No such file")):
        with pytest.raises(MinitritonError, match=what):
            scaled.warmup(X, X, 128, grid=(1,), extern_libs={"mine": str(tmp_path / name)})
    with pytest.raises(MinitritonError, match="cannot stand in a pipeline"):
        scaled.warmup(X, X, 128, grid=(1,), extern_libs={"mine": write_library(tmp_path / "a,b.bc", "2.0")})
