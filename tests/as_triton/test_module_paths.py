"""Modules are found by the paths that programs know from Triton and from the docs, wherever they are: one module object each."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import minitriton


@pytest.mark.parametrize("name", minitriton._ELSEWHERE)
def test_a_known_path_gives_the_module_itself(name: str) -> None:
    if name == "_internal_testing":
        pytest.importorskip("torch")
    module = importlib.import_module(f"minitriton.{name}")
    assert module is importlib.import_module(f"minitriton.{minitriton._ELSEWHERE[name]}")
    assert module.__spec__ is not None and module.__spec__.name == f"minitriton.{minitriton._ELSEWHERE[name]}"


def test_what_is_below_a_known_path_is_not_loaded_again() -> None:
    from minitriton._C.libtriton import ir
    from minitriton.as_triton._C.libtriton import ir as own

    assert ir is own


def test_what_is_not_below_a_known_path_is_said_to_be_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"minitriton\._C\.no_such"):
        importlib.import_module("minitriton._C.no_such")


def test_a_known_path_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "minitriton.run_as_triton", "--help"], capture_output=True, text=True)
    assert done.stdout.startswith("usage: python -m minitriton.run_as_triton"), done.stderr
