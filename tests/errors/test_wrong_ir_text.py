"""IR text that is malformed, invalid or incomplete is refused with its place; bad LLVM IR does not end the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.commands import cli

STAGES = ("ttir", "ttgir", "llir", "ptx")


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    kernel = add.warmup(*[triton.MockTensor(tl.float32)] * 3, 5, BLOCK=64, grid=(1,))
    return {stage: kernel.asm[stage] for stage in STAGES}


@pytest.fixture
def refused_text(tmp_path: Path, refused: Callable[..., Any], fails: Callable[..., str]) -> Callable[..., Any]:
    """Compiles a file of this stage and content, as a library and as a command; both must fail with `pieces`."""

    def check(stage: str, content: str | bytes, *pieces: str) -> Any:
        path = tmp_path / f"k.{stage}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        error = refused(lambda: triton.compile(path), *pieces)
        fails(cli.main, ["compile", str(path)], *pieces)
        return error

    return check


@pytest.mark.parametrize("stage", STAGES)
def test_text_of_every_stage_compiles_as_it_is(stage: str, texts: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / f"k.{stage}"
    path.write_text(texts[stage])
    assert ".entry add" in triton.compile(path).asm["ptx"]


@pytest.mark.parametrize("stage", STAGES)
def test_bytes_that_are_no_text_are_refused(stage: str, refused_text: Callable[..., Any]) -> None:
    refused_text(stage, b"\xff\xfe\x00\x81", f"k.{stage}' is not text", "byte 0", "help: ")


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("ttir", "the module lacks a public tt.func"),
        ("ttgir", "the module lacks a public tt.func"),
        ("llir", "no kernel entry found in the llir text"),
        ("ptx", "no kernel entry found in the ptx text"),
    ],
)
def test_an_empty_file_is_refused(stage: str, message: str, refused_text: Callable[..., Any]) -> None:
    refused_text(stage, "", f"k.{stage}: {message}", "help: declare the kernel as")


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("ttir", "k.ttir:1:1: error: custom op 'hello' is unknown"),
        ("ttgir", "k.ttgir:1:1: error: custom op 'hello' is unknown"),
        ("llir", "k.llir: no kernel entry found"),
        ("ptx", "k.ptx: no kernel entry found"),
    ],
)
def test_prose_is_refused(stage: str, message: str, refused_text: Callable[..., Any]) -> None:
    refused_text(stage, "hello world {{{", message)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir"])
def test_truncated_text_is_refused_at_a_line(
    stage: str, texts: dict[str, str], refused_text: Callable[..., Any]
) -> None:
    text = texts[stage]
    error = refused_text(stage, text[: len(text) // 2], f"k.{stage}:")
    assert error.location is not None and error.location.line > 0


WRONG_TTGIR = [
    ("tt.load", "tt.lode", "custom op 'tt.lode' is unknown"),
    ("sizePerThread", "sizePerThred", "unexpected key: sizePerThred"),
    ("arith.addf %", "arith.addi %", "arith.addi"),
    ('"ttg.num-warps" = 4 : i32', '"other" = 4 : i32', "not in a context with `ttg.num-warps`"),
    ('"ttg.num-warps" = 4 : i32', '"ttg.num-warps" = 8 : i32', "4 warps per CTA, but the context requires 8"),
    ('"ttg.num-warps" = 4 : i32', '"ttg.num-warps" = 3 : i32', "4 warps per CTA, but the context requires 3"),
    ("cuda:90", "hip:gfx942", 'add the module attribute ttg.target = "cuda:90"'),
    ("#ttg.blocked<", "#ttg.blokked<", "#ttg.blokked"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG_TTGIR, ids=[f"{w[0]} {w[1]}" for w in WRONG_TTGIR])
def test_a_wrong_word_in_ttgir_is_named(
    right: str, wrong: str, message: str, texts: dict[str, str], refused_text: Callable[..., Any]
) -> None:
    assert right in texts["ttgir"]
    refused_text("ttgir", texts["ttgir"].replace(right, wrong, 1), message)


def test_values_of_wrong_type_are_refused_at_the_line(refused_text: Callable[..., Any]) -> None:
    text = "tt.func public @f(%x: i32) {\n  %0 = arith.addi %x, %x : i64\n  tt.return\n}"
    refused_text("ttir", text, "k.ttir:2:", "'i64' vs 'i32'")


def test_an_op_that_nobody_knows_is_refused_at_its_line(refused_text: Callable[..., Any]) -> None:
    refused_text("ttir", 'tt.func public @f() {\n  "foo.bar"() : () -> ()\n  tt.return\n}', "k.ttir:2:", "foo.bar")


def test_a_function_that_is_not_there_is_named(refused_text: Callable[..., Any]) -> None:
    text = "tt.func public @f() {\n  tt.call @g() : () -> ()\n  tt.return\n}"
    refused_text("ttir", text, "k.ttir:2:", "'g' does not reference a valid function")


@pytest.mark.parametrize("body", ["", " { }"])
@pytest.mark.parametrize(
    "text",
    [
        "tt.func public @k(){body}",
        "tt.func public @k() {{ tt.call @f() : () -> ()\n tt.return }} tt.func private @f(){body}",
    ],
)
def test_a_function_without_a_body_is_refused(text: str, body: str, refused_text: Callable[..., Any]) -> None:
    name = "k" if text.startswith("tt.func public @k(){") else "f"
    where = "k.ttir:1:" if name == "k" else "k.ttir:2:"
    refused_text("ttir", text.format(body=body), where, f"function '{name}' lacks a body", "help: write one")


def test_llvm_ir_that_does_not_parse_is_refused_at_its_line(refused_text: Callable[..., Any]) -> None:
    text = "define ptx_kernel void @f(ptr %a, ptr %b) {\n  %v = ad i32 1, 2\n  ret void\n}\n"
    refused_text("llir", text, "k.llir:2:8: error: this is not valid LLVM IR: expected instruction opcode", "help: ")


BODIES = {
    "does not verify": ("%v = add i32 %w, 1\n  %w = add i32 %v, 1", "does not dominate all uses"),
    "aborts instruction selection": (
        "%l = load <4 x float>, ptr %a\n  %v = call <4 x float> @llvm.x86.sse.rcp.ps(<4 x float> %l)\n"
        "  store <4 x float> %v, ptr %a",
        "LLVM",
    ),
    "aborts the assembly printer": ('%v = call i32 asm sideeffect "foo $0, $5;", "=r,r"(i32 3)', "operand number"),
    "exits the process": ('%v = call i32 asm sideeffect "foo $0, $1;", "=z,r"(i32 3)', "constraint 'z'"),
}


@pytest.mark.parametrize("name", BODIES)
def test_llvm_ir_that_would_end_the_process_is_refused(name: str, tmp_path: Path, refused: Callable[..., Any]) -> None:
    body, message = BODIES[name]
    path = tmp_path / "k.llir"
    declaration = "declare <4 x float> @llvm.x86.sse.rcp.ps(<4 x float>)\n" if "x86" in body else ""
    path.write_text(f"{declaration}define ptx_kernel void @f(ptr %a, ptr %b) {{\n  {body}\n  ret void\n}}\n")
    refused(lambda: triton.compile(path), f"LLVM cannot compile {path}", message, "help: ")


def test_a_file_of_unknown_suffix_is_refused(refused_text: Callable[..., Any]) -> None:
    refused_text("mlir", "module {}", "unknown stage 'mlir'", "help: use a file named *.ttir, *.ttgir, *.llir, *.ptx")


def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, refused: Callable[..., Any], fails: Callable[..., str]
) -> None:
    (tmp_path / "folder.ttir").mkdir()
    for name, reason in (("none.ttir", "No such file or directory"), ("folder.ttir", "Is a directory")):
        path = tmp_path / name
        refused(lambda path=path: triton.compile(path), f"cannot read '{path}': {reason}", "help: ")
        fails(cli.main, ["compile", str(path)], f"cannot read '{path}': {reason}", "help: ")


@pytest.mark.parametrize("thing", [3, None, add], ids=["number", "none", "kernel"])
def test_what_is_no_source_is_refused(thing: Any, refused: Callable[..., Any]) -> None:
    refused(lambda: triton.compile(thing), "cannot compile an object of type", "help: give ASTSource")
