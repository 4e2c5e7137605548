"""Modules of other libraries that are changed once a program imports them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minitriton.as_triton.after_import import after_import, write_names


def test_a_module_is_changed_when_it_is_imported_and_its_loader_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_to_change.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    finders = len(sys.meta_path)
    after_import("module_to_change", lambda module: setattr(module, "y", module.x + 1))
    module: Any = importlib.import_module("module_to_change")
    assert module.y == 2
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
    assert len(sys.meta_path) == finders
    after_import("module_to_change", lambda module: setattr(module, "y", 5))
    assert module.y == 5
    del sys.modules["module_to_change"]


def test_a_module_that_is_not_there_is_missing_as_before() -> None:
    after_import("no_such_module_to_change", lambda module: None)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_to_change"):
        importlib.import_module("no_such_module_to_change")


KERNEL = """
import minitriton as triton
import minitriton.language as tl
from minitriton.language import cdiv, float32, load

N: tl.constexpr = tl.constexpr(3)

@triton.jit
def inner(x):
    return load(x).to(float32) * N

@triton.jit
def outer(x, n):
    tl.store(x, inner(x) + cdiv(n, 4))
"""


def test_the_source_that_inductor_writes_for_a_kernel_says_what_its_names_mean(tmp_path: Path) -> None:
    (tmp_path / "kernel_for_inductor.py").write_text(KERNEL)
    sys.path.insert(0, str(tmp_path))
    try:
        kernel = importlib.import_module("kernel_for_inductor").outer
    finally:
        sys.path.remove(str(tmp_path))
    wrapper: Any = ModuleType("wrapper")
    wrapper.user_defined_triton_kernel_transitive_closure_source_code = lambda kernel: (
        f"{kernel.src}\nN: minitriton.language.values.constexpr = tl.constexpr(3)\n"
    )
    write_names(wrapper)
    lines = wrapper.user_defined_triton_kernel_transitive_closure_source_code(kernel).splitlines()
    assert lines[-4:] == [
        "N: tl.constexpr = tl.constexpr(3)",
        "float32 = tl.dtype('fp32')",
        "from minitriton.language.memory import load as load",
        "from minitriton.language.standard import cdiv as cdiv",
    ]
    write_names(ModuleType("an older torch"))
