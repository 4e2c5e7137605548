"""Stages from files: options, the environment, what the cache knows of them; reproducers; places in a stage's text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.commands.opt import main as opt
from minitriton.errors import MinitritonError
from minitriton.pipeline.pass_manager import read_reproducer
from minitriton.runtime.cache import KernelCache
from minitriton.target import GPUTarget


@triton.jit
def five_times(out_ptr, x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * 5.0)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compiled(**options: Any) -> Any:
    signature = {"out_ptr": "*fp32", "x_ptr": "*fp32", "N": "constexpr"}
    return triton.compile(triton.compiler.ASTSource(five_times, signature, {"N": 128}), options=options)


def tripled(stage: str) -> str:
    """The text of a stage of `five_times`, its factor changed."""
    text = compiled().asm[stage]
    for five, three in (("5.000000e+00", "3.000000e+00"), ("0f40A00000", "0f40400000")):
        text = text.replace(five, three)
    return text


def result(**options: Any) -> float:
    x, out = np.ones(128, np.float32), np.zeros(128, np.float32)
    five_times[(1,)](out, x, N=128, **options)
    assert (out == out[0]).all()
    return float(out[0])


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
def test_an_option_names_the_file_that_a_stage_is_taken_from(tmp_path: Path, stage: str) -> None:
    path = tmp_path / f"edited.{stage}"
    path.write_text(tripled(stage) if stage != "llir" else compiled().asm["llir"])
    kernel = compiled(ir_override=str(path))
    assert kernel.asm[stage].strip() == path.read_text().strip()
    if stage != "llir":
        assert result(ir_override=str(path)) == 3


def test_an_edited_file_is_compiled_again(tmp_path: Path) -> None:
    path = tmp_path / "edited.ttgir"
    path.write_text(tripled("ttgir"))
    first = compiled(ir_override=str(path))
    path.write_text(path.read_text().replace("3.000000e+00", "4.000000e+00"))
    second = compiled(ir_override=str(path))
    assert first.hash != second.hash
    assert "4.000000e+00" in second.asm["ttgir"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kernel.txt", "", "names no stage"),
        ("missing.ttir", None, "no such file"),
        ("wide.ttgir", "ttg.num-warps", "is for 8 warps, the launch for 4"),
    ],
)
def test_files_that_cannot_take_a_stage_s_place(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    path = tmp_path / name
    if text == "ttg.num-warps":
        path.write_text(compiled(num_warps=8).asm["ttgir"])
    elif text is not None:
        path.write_text(text)
    with pytest.raises(MinitritonError, match=message):
        compiled(ir_override=str(path))


def test_a_dump_edited_below_the_override_folder_takes_the_stage_s_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    with monkeypatch.context() as dumping:
        dumping.setenv("TRITON_KERNEL_DUMP", "1")
        compiled()
    (tmp_path / "dump").rename(tmp_path / "override")
    (folder,) = (tmp_path / "override").iterdir()
    for stage in ("ttir", "llir", "ptx", "cubin", "sass"):
        (folder / f"five_times.{stage}").unlink(missing_ok=True)
    edited = folder / "five_times.ttgir"
    edited.write_text(edited.read_text().replace("5.000000e+00", "7.000000e+00"))
    monkeypatch.setenv("TRITON_OVERRIDE_DIR", str(tmp_path / "override"))
    assert "7.000000e+00" not in compiled().asm["ttgir"]
    monkeypatch.setenv("TRITON_KERNEL_OVERRIDE", "1")
    assert "0f40E00000" in compiled().asm["ptx"]
    assert f"Overriding kernel with file {edited}" in capsys.readouterr().out


def test_each_stage_of_modules_leaves_a_reproducer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRITON_REPRODUCER_PATH", str(tmp_path / "repro"))
    kernel = compiled()
    written = {path.name for path in tmp_path.glob("repro.*")}
    assert written == {f"repro.make_{stage}.repro.mlir" for stage in ("ttir", "ttgir", "llir")}
    pipeline, text = read_reproducer(tmp_path / "repro.make_ttgir.repro.mlir")
    assert text.strip() == kernel.asm["ttir"].strip()
    assert str(pipeline).startswith("convert-triton-to-tritongpu")
    assert opt(["--run-reproducer", str(tmp_path / "repro.make_ttgir.repro.mlir"), "-mlir-print-debuginfo"]) == 0
    assert capsys.readouterr().out.strip() == kernel.asm["ttgir"].strip()


def test_places_can_be_lines_of_a_stage_s_text(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_IR_LOC", "ttgir")
    kernel = compiled()
    path = KernelCache(cache).path(kernel.hash) / "five_times.ttgir"
    lines = path.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "tt.load" in text)
    assert 'filename: "five_times.ttgir"' in kernel.asm["llir"]
    assert f".loc\t1 {line} " in kernel.asm["ptx"]


def test_a_source_of_ir_can_have_its_own_lines_as_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kernel.ttir"
    path.write_text(compiled().asm["ttir"])
    assert 'filename: "test_overrides.py"' in triton.compile(str(path)).asm["llir"]
    monkeypatch.setenv("USE_IR_LOC", "ttir")
    assert 'filename: "kernel.ttir"' in triton.compile(str(path)).asm["llir"]


def test_the_same_text_in_another_file_has_that_file_s_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_IR_LOC", "ttir")
    for name in ("one.ttir", "two.ttir"):
        (tmp_path / name).write_text(compiled().asm["ttir"])
        assert f'filename: "{name}"' in triton.compile(str(tmp_path / name)).asm["llir"]


def test_only_the_binary_is_kept_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "1")
    kernel = compiled()
    names = {Path(path).suffix for path in kernel.stored_files().values()}
    assert names == ({".cubin", ".json"} if "cubin" in kernel.asm else {".ttir", ".ttgir", ".llir", ".ptx", ".json"})


def test_a_listener_hears_of_every_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[dict[str, Any]] = []
    monkeypatch.setattr(knobs.compilation, "listener", lambda **told: heard.append(told))
    compiled()
    compiled()
    first, second = heard
    assert (first["cache_hit"], second["cache_hit"]) == (False, True)
    assert [stage for stage, _ in first["times"].lowering_stages][:4] == ["ttir", "ttgir", "llir", "ptx"]
    assert first["times"].ir_initialization > 0 and first["times"].store_results > 0
    assert second["times"].ir_initialization > 0
    assert (second["times"].total_lowering, second["times"].store_results) == (0, 0)
    assert os.path.exists(second["metadata_group"]["five_times.ttgir"])


def test_a_program_can_put_a_stage_of_its_own_in_place(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    seen: list[Any] = []

    def inspect(backend: Any, stages: dict[str, Any], options: Any, language: Any, capability: int) -> None:
        def make_ttgir(module: Any, metadata: dict[str, Any]) -> Any:
            seen.append((language.name, capability, options.num_warps, list(stages)))
            return backend.make_ttgir(module, metadata, options, capability)

        stages["ttgir"] = make_ttgir
        stages["ptx"] = lambda module, metadata: backend.make_ptx(module, metadata, options, capability) + "// seen\n"

    plain = compiled()
    monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", inspect)
    inspected = compiled()
    assert seen == [("TRITON", 90, 4, ["ttir", "ttgir", "llir", "ptx"])]
    assert inspected.asm["ptx"] == plain.asm["ptx"] + "// seen\n"
    monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", None)
    assert compiled().asm["ptx"] == plain.asm["ptx"]


def test_ttgir_that_names_no_target_is_for_that_of_the_compile(tmp_path: Path) -> None:
    path = tmp_path / "kernel.ttgir"
    path.write_text(compiled().asm["ttgir"].replace('ttg.target = "cuda:90", ', ""))
    kernel = triton.compile(str(path), target=GPUTarget("cuda", 80, 32))
    assert ".target sm_80" in kernel.asm["ptx"]
