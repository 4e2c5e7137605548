"""Text that is wrong ends in an error at its place: never in the end of the process, a hang, a raw traceback or a stray file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitriton as triton
from minitriton import emulator
from minitriton.commands import cli, opt
from minitriton.dialects.text import parse_module
from minitriton.errors import IRError, MinitritonError
from minitriton.host.whole_file import stem_of
from minitriton.target import CUDAOptions, GPUTarget

FUNCTION = """module {
  tt.func public @k(%x: !tt.ptr<f32>) {
    BODY
    tt.return
  }
}
"""


def with_body(body: str) -> str:
    return FUNCTION.replace("BODY", body)


MALFORMED = {
    "a string without its end": ('"' + "a" * 4000, "1:1: error: End of file reached before closing string"),
    "a digit beyond ASCII": ("²", "1:1: error: unexpected character: ²"),
    "a letter beyond ASCII": (FUNCTION.replace("@k", "@ä"), "2:18: error: a name with 'ä' stands in quotes"),
    "a type of many bits": (with_body("%0 = arith.constant 1 : i99999999999"), "3:29: error: integer bitwidth is limited"),
    "a type of no bits": (with_body("%0 = arith.constant 1 : i0"), "3:10: error: "),
    "a number of many digits": (with_body(f"%0 = arith.constant {'1' * 5000} : i32"), "3:25: error: a number of more than"),
    "nested attributes": (with_body("%0 = arith.constant dense<" + "[" * 3000), "the text is nested too deeply"),
    "nested modules": ("module { " * 2000, "the text is nested too deeply"),
    "a value before its definition": (
        with_body("%1 = arith.addi %0, %0 : i32\n    %0 = arith.constant 1 : i32"),
        "3:10: error: operand #0 does not dominate this use",
    ),
    "a value never defined": (with_body("%1 = arith.addi %zz, %zz : i32"), "3:21: error: use of undeclared SSA value name '%zz'"),
    "a branch that yields too little": (
        with_body("%c = arith.constant true\n    %0 = scf.if %c -> (i1) {\n scf.yield %c : i1\n } else {\n scf.yield\n }"),
        "4:10: error: 'scf.if' op's else branch yields 0 values",
    ),
    "two functions of one name": ("tt.func public @k() { tt.return }\n" * 2, "2:1: error: redefinition of symbol"),
    "warps that no power of 2 counts": (FUNCTION.replace("module", 'module attributes {"ttg.num-warps" = -4 : i32}').replace("BODY", ""), "must be a power of 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_ir_is_refused_at_its_place_at_once(name: str) -> None:
    text, message = MALFORMED[name]
    start = time.process_time()
    with pytest.raises(IRError) as caught:
        parse_module(text, "k.ttir")
    assert message in str(caught.value)
    assert caught.value.location is not None and caught.value.location.file == "k.ttir"
    assert time.process_time() - start < 5


def test_values_of_a_block_that_dominates_are_visible_and_others_are_not() -> None:
    blocks = """%c = arith.constant true
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    %0 = arith.constant 1 : i32
    cf.br ^bb2
  ^bb2:
    %1 = arith.USED"""
    parse_module(with_body(blocks.replace("USED", "xori %c, %c : i1")), "k.ttir")
    with pytest.raises(IRError, match="9:10: error: operand #0 does not dominate"):
        parse_module(with_body(blocks.replace("USED", "addi %0, %0 : i32")), "k.ttir")


def test_a_pass_that_uses_a_value_before_its_definition_is_named_by_verify_each(
    tmp_path: Path, fails: Callable[..., str]
) -> None:
    (tmp_path / "bad.py").write_text(
        "from dataclasses import dataclass\nfrom minitriton.pipeline.pass_registry import Pass, register_pass\n"
        "@register_pass\n@dataclass(frozen=True)\nclass Bad(Pass):\n    name = 'test-turns-a-block-round'\n"
        "    def apply(self, ctx, op):\n        block = next(o for o in op.walk() if o.name == 'arith.addi').parent\n"
        "        first = block.first_op\n        first.detach()\n        block.insert_op_before(first, block.last_op)\n"
    )
    (tmp_path / "k.ttir").write_text(with_body("%0 = arith.constant 1 : i32\n    %1 = arith.addi %0, %0 : i32"))
    arguments = [str(tmp_path / "k.ttir"), "--load", str(tmp_path / "bad.py"), "-test-turns-a-block-round"]
    fails(opt.main, [*arguments, "--verify-each"], "'test-turns-a-block-round' left invalid IR", "does not dominate")


@pytest.mark.parametrize("name", ['"a b"', '"a-b"', '"a/b"', '"ä"', '""', '"../../x"', '"a\\22b"', "llvm.trap"])
def test_a_name_that_ptx_cannot_spell_is_refused_at_the_function(
    name: str, tmp_path: Path, refused: Callable[..., MinitritonError]
) -> None:
    path = tmp_path / "k.ttir"
    path.write_text(FUNCTION.replace("@k", f"@{name}").replace("BODY", ""))
    error = refused(lambda: triton.compile(path, GPUTarget("cuda", 90)), "k.ttir:2:3: error: ")
    assert "called" in error.message or "name" in error.message


SORTED = """
import triton
import triton.language as tl

@triton.jit
def NAME(x, B: tl.constexpr):
    at = x + tl.arange(0, B)
    tl.device_print("x", tl.sum(tl.load(at)))
    tl.store(at, tl.sort(tl.load(at)))
"""


@pytest.mark.parametrize("name", ["global_smem", "vprintf"])
def test_a_kernel_called_as_what_the_lowering_adds_is_refused_at_its_line(
    name: str, tmp_path: Path, fails: Callable[..., str]
) -> None:
    (tmp_path / "k.py").write_text(SORTED.replace("NAME", name))
    command = ["compile", f"{tmp_path / 'k.py'}:{name}", "--signature", "*fp32,B=128", "--emit", "ptx"]
    fails(cli.main, command, "k.py:6: error: ", f'something else called "{name}"', "help: ")


def test_device_functions_may_have_any_name(tmp_path: Path) -> None:
    text = with_body('tt.call @"a b\\22"() : () -> ()').rstrip("}\n")
    path = tmp_path / "k.ttir"
    path.write_text(text + '}\n  tt.func private @"a b\\22"() attributes {noinline = true} {\n    tt.return\n  }\n}\n')
    assert ".entry k" in triton.compile(path, GPUTarget("cuda", 90)).asm["ptx"]


@pytest.mark.parametrize("limit", [-5, 0, 2**31])
def test_a_register_limit_that_llvm_cannot_read_is_refused(
    limit: int, tmp_path: Path, refused: Callable[..., MinitritonError]
) -> None:
    path = tmp_path / "k.ttgir"
    attributes = f'{{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", ttg.maxnreg = {limit} : i64}}'
    path.write_text(FUNCTION.replace("module", f"module attributes {attributes}").replace("BODY", ""))
    refused(lambda: triton.compile(path), "k.ttgir:1:1: error: ", "ttg.maxnreg must be between 1 and 65536")
    refused(lambda: CUDAOptions(maxnreg=limit), "maxnreg must be")


def test_what_is_checked_writes_below_the_folder_of_its_reproducers(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "bad.py").write_text(
        "from dataclasses import dataclass\nfrom minitriton.pipeline.pass_registry import Pass, register_pass\n"
        "@register_pass\n@dataclass(frozen=True)\nclass Bad(Pass):\n    name = 'test-fails-at-once'\n"
        "    def apply(self, ctx, op):\n        raise KeyError('x')\n"
    )
    inner = tmp_path / "a" / "b" / "reproducers"
    (tmp_path / "k.ttir").write_text(FUNCTION.replace("@k", '@"../../x"').replace("BODY", ""))
    command = [
        "check",
        str(tmp_path / "k.ttir"),
        "--load",
        str(tmp_path / "bad.py"),
        "--pipeline",
        "test-fails-at-once",
    ]
    assert cli.main([*command, "--reproducers", str(inner)]) == 1
    assert [path.parent for path in tmp_path.rglob("*.mlir")] == [inner]


def test_file_names_made_of_kernel_names_stay_in_their_folder_and_differ() -> None:
    assert stem_of("softmax_2") == "softmax_2"
    wild = ["../../x", "../..\\x", "a/b", "a_b", "", ".", "..", "\0", "ä", "n" * 3000, ".hidden"]
    stems = [stem_of(name) for name in wild]
    assert len(set(stems)) == len(wild) and all(len(stem) <= 160 and stem[0] != "." for stem in stems)
    assert all("/" not in stem and "\0" not in stem for stem in stems)


PTX = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global k_param_0)
.reqntid 32
{
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;
	ld.param.b64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	add.s32 	%r2, %r1, 1;
	st.global.b32 	[%rd1], %r2;
	ret;
}
"""

WRONG_PTX = {
    "an operand left out": ("add.s32 	%r2, %r1, 1;", "add.s32 	%r2, ;", 11),
    "all operands left out": ("add.s32 	%r2, %r1, 1;", "add.s32;", 11),
    "an empty operand": ("add.s32 	%r2, %r1, 1;", "add.s32 	%r2, , 1;", 11),
    "an address without its base": ("[%rd1]", "[]", 12),
    "two bars": ("%r2, %r1, 1", "%r1|%r2|%r1, 1", 11),
    "an offset that is no number": ("[%rd1]", "[%rd1+x]", 12),
    "registers without names": (".reg .b32 	%r<4>;", ".reg .b32;", 7),
    "a type without a width": (".reg .b32 	%r<4>;", ".reg .b 	%r<4>;", 7),
    "registers of one bit": (".reg .b32 	%r<4>;", ".reg .b32 	%r<4>;.reg .b1 %p<3>;.reg .b32 %q;mov.b32 %q, %p1;", 7),
    "registers of four bits": (".reg .b32 	%r<4>;", ".reg .b32 	%r<4>;.reg .b4 %x;", 7),
    "brackets within brackets": ("[%rd1]", "{" * 3000, 12),
    "a target that is left out": (".target sm_90a", ".target", 2),
    "an alignment of nothing": (".reg .b32", ".shared .align 0 .b8 buffer[64];\n.reg .b32", 7),
    "an alignment that is no power of 2": (".ptr .global k_param_0", ".align 3 k_param_0", 4),
    "a parameter without a name": (".param .u64 .ptr .global k_param_0", ".param", 4),
    "a product without operands": ("add.s32", "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 ;\nadd.s32", 11),
    "threads without a number": (".reqntid 32", ".reqntid 32,,", 6),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_PTX)
def test_wrong_ptx_is_refused_at_its_line(name: str) -> None:
    import numpy as np

    before, after, line = WRONG_PTX[name]
    with pytest.raises(emulator.EmulationError) as caught:
        emulator.run(PTX.replace(before, after), "k", (1,), [np.zeros(32, np.int32)])
    assert caught.value.location is not None
    assert abs(caught.value.location.line - line) <= 2, str(caught.value)


@pytest.mark.parametrize(
    "change", [(".reqntid 32", ".reqntid 4096"), (".reg .b32", ".shared .b8 s[9999999999];\n.reg .b32")]
)
def test_ptx_that_asks_for_more_than_a_gpu_has_is_refused(change: tuple[str, str]) -> None:
    import numpy as np

    with pytest.raises(emulator.EmulationError, match="the most is"):
        emulator.run(PTX.replace(*change), "k", (1,), [np.zeros(32, np.int32)])


def test_llvm_ir_that_no_one_has_looked_at_is_tried_in_a_child_first(fails: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "k.ll").write_text('define ptx_kernel void @"a b"() {\n  ret void\n}\n')
    fails(
        opt.main,
        [str(tmp_path / "k.ll"), "-optimize-llvm-ir", "-emit-ptx"],
        "LLVM cannot compile",
        "unsupported characters",
    )


@pytest.mark.parametrize("options", [{"ptx_version": 70}, {"ptx_version": 78}])
def test_a_ptx_version_that_does_not_know_the_target_is_refused(
    options: dict[str, int], tmp_path: Path, refused: Callable[..., MinitritonError]
) -> None:
    (tmp_path / "k.ttir").write_text(FUNCTION.replace("BODY", ""))
    refused(
        lambda: triton.compile(tmp_path / "k.ttir", GPUTarget("cuda", 90), options), "does not know sm_90a", "help: "
    )


@pytest.fixture
def compiled_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str, str], list[str]]:
    """The command that compiles a kernel by its target's default pipeline, with a piece of that replaced."""
    kernel = tmp_path / "k.py"
    kernel.write_text("import triton\n@triton.jit\ndef k(x):\n    pass\n")
    command = ["compile", f"{kernel}:k", "--signature", "*fp32"]

    def make(before: str, after: str) -> list[str]:
        assert cli.main([*command, "--emit", "pipeline"]) == 0
        pipeline = capsys.readouterr().out.strip()
        assert before in pipeline
        return [*command, "--pipeline", pipeline.replace(before, after)]

    return make


def test_code_for_a_later_gpu_is_not_emitted_for_an_earlier_one(
    fails: Callable[..., str], compiled_with: Callable[[str, str], list[str]]
) -> None:
    command = compiled_with("optimize-llvm-ir", "optimize-llvm-ir{arch=80}")
    fails(cli.main, command, "the module is for sm_90", "help: ")


def test_a_pass_on_modules_does_not_follow_a_translation(
    fails: Callable[..., str], compiled_with: Callable[[str, str], list[str]]
) -> None:
    command = compiled_with("emit-ptx", "cse,emit-ptx")
    fails(cli.main, command, "pass 'cse' (number ", "help: ")


def test_a_reduction_along_no_dimension_is_refused() -> None:
    reduction = """%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %1 = "tt.reduce"(%0) <{axis = 1 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      tt.reduce.return %a : i32
    }) : (tensor<8xi32>) -> i32"""
    with pytest.raises(IRError, match=r"4:10: error: .tt\.reduce. op axis 1 is not one of the 1 dimensions"):
        parse_module(with_body(reduction), "k.ttir")


NO_END = """.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 16 x, .param .u64 y, .param .u64 z)
.reqntid 32
{
.reg .pred %p<2>; .reg .b32 %r<2>;
mov.b32 %r1, 0;
AGAIN: add.s32 %r1, %r1, STEP;
setp.ge.s32 %p1, %r1, 0;
@%p1 bra AGAIN;
ret;
}
"""


@pytest.mark.parametrize(("step", "message"), [("0", "a loop that never ends"), ("1", "no end after 0.2 s")])
def test_ptx_that_never_ends_is_an_error_at_its_loop(
    step: str, message: str, tmp_path: Path, fails: Callable[..., str]
) -> None:
    (tmp_path / "k.ptx").write_text(NO_END.replace("STEP", step))
    command = ["check", str(tmp_path / "k.ptx"), "--signature", "*fp32", "--emulator-seconds", "0.2"]
    fails(cli.main, command, f"<ptx>:11: error: {message}" if step == "0" else message)


@pytest.mark.parametrize("threads", ["0", "", "-32", "33", "9223372036854775808", "2048"])
def test_ptx_for_a_number_of_threads_that_no_kernel_has_is_refused_at_its_line(
    threads: str, tmp_path: Path, fails: Callable[..., str]
) -> None:
    (tmp_path / "k.ptx").write_text(NO_END.replace(".reqntid 32", f".reqntid {threads}"))
    fails(cli.main, ["check", str(tmp_path / "k.ptx"), "--signature", "*fp32"], "k.ptx:5: error: .reqntid", "help: ")


def test_ptx_that_cannot_be_run_fails_its_check(tmp_path: Path, fails: Callable[..., str]) -> None:
    (tmp_path / "k.ptx").write_text(NO_END.replace("add.s32", "adds32"))
    fails(cli.main, ["check", str(tmp_path / "k.ptx"), "--signature", "*fp32"], "k.ptx cannot be run: <ptx>:9: error:")
