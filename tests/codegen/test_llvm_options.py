"""LLVM's flags of one compile, and what is printed of its passes."""

from __future__ import annotations

from pathlib import Path

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.llvm_session import check_llvm_flags
from minitriton.compiler import ASTSource
from minitriton.errors import PipelineError
from minitriton.target import GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


@triton.jit
def column_sums(x, out, rows, stride):
    i = tl.arange(0, 256)
    total = tl.zeros((256,), tl.float32)
    for row in range(rows):
        total += tl.load(x + row * stride + i)
    tl.store(out + i, total)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def compiled(pipeline: str | None = None) -> triton.runtime.CompiledKernel:
    source = ASTSource(column_sums, {"x": "*fp32", "out": "*fp32", "rows": "i32", "stride": "i32"})
    return triton.compile(source, target=HOPPER, options={"pipeline": pipeline}, assemble=False)


def test_flags_of_llvm_are_on_for_one_compile_and_stored_with_its_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = compiled().asm["ptx"]
    monkeypatch.setenv("DISABLE_LLVM_OPT", "disable-lsr,disable-machine-licm")
    kernel = compiled()
    assert kernel.asm["ptx"] != plain
    assert kernel.metadata.pipeline.count("{flags=disable-lsr,disable-machine-licm}") == 2
    monkeypatch.delenv("DISABLE_LLVM_OPT")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert compiled(kernel.metadata.pipeline).asm["ptx"] == kernel.asm["ptx"]
    assert compiled().asm["ptx"] == plain


def test_a_name_that_is_not_a_flag_of_llvm_is_refused() -> None:
    with pytest.raises(PipelineError, match="disable-lrs") as raised:
        check_llvm_flags(["disable-lrs"])
    assert "did you mean 'disable-lsr'?" in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "parts"),
    [
        ("LLVM_IR_ENABLE_DUMP", ["IR Dump Before InstCombinePass", "IR Dump Before Machine Instruction Scheduler"]),
        ("LLVM_ENABLE_TIMING", ["Pass execution timing report", "InstCombinePass", "Machine Instruction Scheduler"]),
        ("MLIR_ENABLE_TIMING", ["Execution time of passes", "tritongpu-coalesce", "emit-ptx", "total"]),
    ],
)
def test_what_is_printed_of_passes_is_not_hidden_by_the_cache(
    variable: str, parts: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled()
    monkeypatch.setenv(variable, "1")
    compiled()
    shown = capfd.readouterr().err
    assert all(part in shown for part in parts)
    monkeypatch.delenv(variable)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    compiled()
    assert capfd.readouterr().err == ""
