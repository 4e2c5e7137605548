"""Settings: where a knob's value comes from, and when it is forgotten."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import minitriton
import minitriton.language as tl
from minitriton import knobs
from minitriton.compiler import ASTSource
from minitriton.errors import MinitritonError
from minitriton.target import CUDAOptions, GPUTarget


class group(knobs.base_knobs):
    word = knobs.env_str("MT_TEST_WORD", "default")
    flag = knobs.env_bool("MT_TEST_FLAG")
    number = knobs.env_int("MT_TEST_NUMBER", 7)
    maybe = knobs.env_opt_bool("MT_TEST_MAYBE")
    kind = knobs.env_class("MT_TEST_KIND", "base_knobs")


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> group:
    for key in ("WORD", "FLAG", "NUMBER", "MAYBE", "KIND"):
        monkeypatch.setenv(f"MT_TEST_{key}", "")
        monkeypatch.delenv(f"MT_TEST_{key}")
    return group()


def test_without_a_variable_a_knob_has_its_default(settings: group) -> None:
    assert settings.knobs == {"word": "default", "flag": False, "number": 7, "maybe": None, "kind": None}


@pytest.mark.parametrize(("text", "value"), [("1", True), ("YES", True), ("on", True), ("0", False), ("False", False)])
def test_a_flag_reads_the_usual_words(settings: group, monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("MT_TEST_FLAG", text)
    monkeypatch.setenv("MT_TEST_MAYBE", text)
    assert (settings.flag, settings.maybe) == (value, value)


@pytest.mark.parametrize(
    ("key", "knob", "text"),
    [
        ("FLAG", "flag", "perhaps"),
        ("NUMBER", "number", "many"),
        ("KIND", "kind", "os"),
        ("KIND", "kind", "os:PathLike"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(
    settings: group, monkeypatch: pytest.MonkeyPatch, key: str, knob: str, text: str
) -> None:
    monkeypatch.setenv(f"MT_TEST_{key}", text)
    with pytest.raises(MinitritonError, match=f"MT_TEST_{key}"):
        getattr(settings, knob)


def test_a_set_knob_wins_over_the_environment_and_sets_it(settings: group, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.flag = True
    settings.number = 3
    assert (os.environ["MT_TEST_FLAG"], os.environ["MT_TEST_NUMBER"]) == ("1", "3")
    monkeypatch.setenv("MT_TEST_NUMBER", "4")
    assert settings.number == 3


def test_the_environment_is_left_alone_where_asked_for(settings: group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs, "propagate_env", False)
    settings.word = "set"
    assert "MT_TEST_WORD" not in os.environ


def test_deleting_a_knob_or_assigning_env_hands_it_back(settings: group, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.word, settings.number = "set", 3
    monkeypatch.setenv("MT_TEST_WORD", "from outside")
    monkeypatch.setenv("MT_TEST_NUMBER", "5")
    del settings.word
    settings.number = knobs.env
    assert (settings.word, settings.number) == ("from outside", 5)


def test_a_scope_undoes_settings_and_variables(settings: group) -> None:
    settings.word = "before"
    with settings.scope():
        settings.word = "within"
        settings.flag = True
        assert os.environ["MT_TEST_WORD"] == "within"
    assert (settings.word, os.environ["MT_TEST_WORD"]) == ("before", "before")
    assert not settings.flag
    assert "MT_TEST_FLAG" not in os.environ


def test_a_copy_goes_its_own_way(settings: group) -> None:
    settings.word = "one"
    other = settings.copy()
    other.word = "two"
    assert (settings.word, other.word) == ("one", "two")


def test_the_cache_follows_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.setenv("TRITON_HOME", "/home/of/kernels")
    assert knobs.cache.dir == "/home/of/kernels/.cache/minitriton"


def test_hooks_run_once_each_in_their_order() -> None:
    calls: list[str] = []

    def first() -> None:
        calls.append("first")

    def second() -> None:
        calls.append("second")

    for chain in (knobs.HookChain(), knobs.HookChain(reversed=True)):
        for hook in (first, second, first):
            chain.add(hook)
        chain()
    assert calls == ["first", "second", "second", "first"]


def test_a_removed_hook_is_not_called() -> None:
    chain = knobs.HookChain()
    chain.add(pytest.fail)
    chain.remove(pytest.fail)
    chain.remove(pytest.fail)
    chain("called")
    assert not chain


def test_fusion_of_multiply_and_add_can_be_off_by_default() -> None:
    target = GPUTarget("cuda", 90, 32)
    with knobs.language.scope():
        knobs.language.default_fp_fusion = False
        assert not CUDAOptions.for_target(target).enable_fp_fusion
        assert CUDAOptions.for_target(target, enable_fp_fusion=True).enable_fp_fusion
    assert CUDAOptions.for_target(target).enable_fp_fusion


@pytest.mark.parametrize("text", ["0", "false", "no", "off", "OFF"])
def test_a_word_for_no_leaves_kernels_compiled(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", text)
    assert type(minitriton.jit(store_of_a_global)) is minitriton.JITFunction


def test_other_globals_may_be_read_as_soon_as_the_knob_says_so() -> None:
    source = ASTSource(minitriton.jit(store_of_a_global), {"x_ptr": "*i32"})
    with pytest.raises(MinitritonError, match="A_GLOBAL"):
        minitriton.compile(source, GPUTarget("cuda", 90), assemble=False)
    with knobs.compilation.scope():
        knobs.compilation.allow_non_constexpr_globals = True
        assert "arith.constant 3" in minitriton.compile(source, GPUTarget("cuda", 90), assemble=False).asm["ttir"]


def test_the_precision_of_dots_can_be_set_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_F32_DEFAULT", "ieee")
    assert CUDAOptions.for_target(GPUTarget("cuda", 90)).default_dot_input_precision == "ieee"


A_GLOBAL = 3


def store_of_a_global(x_ptr):
    tl.store(x_ptr, A_GLOBAL)


TOOL = """#!/bin/sh
echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
echo "Cuda compilation tools, release 12.8, V12.8.93"
"""


def test_ptxas_is_found_at_triton_s_path_and_starts_the_machine_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "ptxas"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for variable in ("MINITRITON_PTXAS", "TRITON_PTXAS_PATH"):
        monkeypatch.delenv(variable, raising=False)
    knobs.NvidiaTool.from_path.cache_clear()
    own = Path(knobs.__file__).parents[1] / "backends" / "nvidia" / "bin" / "ptxas"
    assert knobs.nvidia.ptxas == knobs.NvidiaTool(str(own), "12.8")

    copy = tmp_path / "elsewhere"
    shutil.copy(own, copy)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(copy))
    assert knobs.nvidia.ptxas == knobs.NvidiaTool(str(copy), "12.8")
    knobs.NvidiaTool.from_path.cache_clear()


def test_without_ptxas_its_place_at_triton_s_path_says_so(tmp_path: Path) -> None:
    own = Path(knobs.__file__).parents[1] / "backends" / "nvidia" / "bin" / "ptxas"
    environment = {"PATH": f"{tmp_path}:/bin", "CUDA_HOME": str(tmp_path)}
    if Path("/usr/local/cuda/bin/ptxas").exists() or Path("/bin/ptxas").exists():
        pytest.skip("this machine has ptxas at a fixed place")
    done = subprocess.run([str(own), "--version"], env=environment, capture_output=True, text=True)
    assert done.returncode == 127
    assert "not installed" in done.stderr
