"""The commands `minitriton` and `minitriton-opt`, as a user types them."""

import io
import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from minitriton.codegen.assemblers import assembler_available
from minitriton.commands.cli import main
from minitriton.commands.opt import main as opt
from minitriton.pipeline.pass_manager import Pipeline, write_reproducer

KERNELS = Path(__file__).parents[1] / "minitriton_kernels"
ADD = f"{KERNELS / 'vector_add.py'}:vector_add"
SIGNATURE = "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=1024"

COUNT_LOADS = '''
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import tt
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
@dataclass(frozen=True)
class CountLoads(Pass):
    """Prints how many loads the module has."""

    name = "{name}"
    label: str = "loads"
    requires = frozenset({{Property.STRUCTURED}})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        print(self.label, sum(isinstance(o, tt.LoadOp) for o in op.walk()))
'''

FAILS_UNTIL_MENDED = '''
from dataclasses import dataclass

from minitriton.pipeline.pass_registry import Pass, register_pass

MENDED = []


@register_pass
@dataclass(frozen=True)
class Fails(Pass):
    """Fails until it is mended."""

    name = "{name}"

    def apply(self, ctx, op):
        if not MENDED:
            raise ValueError("not mended")
'''


def compiled(capsys: pytest.CaptureFixture[str], *arguments: str, source: str = ADD) -> str:
    """What `minitriton compile` of vector add prints; it must succeed."""
    signature = ["--signature", SIGNATURE] if ".py" in source else []
    assert main(["compile", source, *signature, *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error of a command that must fail; nothing else may be printed."""
    assert main([*arguments]) == 1
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return printed.err


@pytest.fixture
def plugin(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A file that registers a pass with a name of this test's own, and the name."""
    name = "count-loads-" + request.node.name.replace("_", "-")
    path = tmp_path / f"{request.node.name}_plugin.py"
    path.write_text(COUNT_LOADS.format(name=name))
    return name, path


@pytest.mark.parametrize(
    ("stage", "mark"),
    [
        ("ttir", "tt.func public @vector_add"),
        ("ttgir", "#ttg.blocked<"),
        ("llir", "define ptx_kernel void @vector_add("),
        ("ptx", ".visible .entry vector_add("),
        ("pipeline", "tritongpu-coalesce"),
    ],
)
def test_every_stage_can_be_printed(capsys: pytest.CaptureFixture[str], stage: str, mark: str) -> None:
    assert mark in compiled(capsys, "--emit", stage)


@pytest.mark.parametrize("arch", ["75", "80", "90"])
def test_a_stage_can_be_written_to_a_file_and_compiled_on_from_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arch: str
) -> None:
    wanted = compiled(capsys, "--emit", "ptx", "--arch", arch)
    for stage in ("ttir", "ttgir", "llir"):
        path = tmp_path / f"k.{stage}"
        assert compiled(capsys, "--emit", stage, "--arch", arch, "-o", str(path)) == ""
        assert compiled(capsys, "--arch", arch, source=str(path)) == wanted, stage


@pytest.mark.parametrize(
    ("stage", "last", "next_one"),
    [
        ("ttir", "rewrite-tensor-pointer", "convert-triton-to-tritongpu"),
        ("ttgir", "tritongpu-coalesce", "place-shared-memory"),
        ("llir", "convert-triton-gpu-to-llvm", "emit-ptx"),
        ("ptx", "emit-ptx", "nothing else"),
    ],
)
def test_nothing_runs_behind_the_stage_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], stage: str, last: str, next_one: str
) -> None:
    assert main(["compile", ADD, "--signature", SIGNATURE, "--emit", stage, "--timings"]) == 0
    table = capsys.readouterr().err
    assert last in table
    assert next_one not in table


def test_a_kernel_s_file_means_minitriton_where_triton_is_imported_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("triton")
    monkeypatch.setitem(sys.modules, "triton", other)
    assert "tt.func public @vector_add" in compiled(capsys, "--emit", "ttir")
    assert sys.modules["triton"] is other


def test_options_and_architecture_reach_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    ptx = compiled(capsys, "--arch", "80", "--option", "num_warps=8")
    assert ".target sm_80" in ptx
    assert ".reqntid 256" in ptx


def test_a_kernel_of_the_corpus_is_compiled_and_checked_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "added_by_clusters", "--emit", "ttgir"]) == 0
    assert '"ttg.num-ctas" = 4' in capsys.readouterr().out
    assert main(["check", "running_sums"]) == 0
    assert "none wrong" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "running_sum"], "did you mean 'running_sums'?"),
        (
            ["compile", "running_sums", "--signature", "*fp32"],
            "has its own types and launch, and --signature would change them",
        ),
        (["check", "running_sums", "--grid", "4"], "has its own types and launch, and --grid would change them"),
    ],
)
def test_a_kernel_of_the_corpus_is_taken_as_it_is(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in refused(capsys, *arguments)


def test_the_ir_after_each_pass_that_changed_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = compiled(capsys, "--emit", "pipeline", "--print-after-each")
    after = shown.split("// ----- after ")
    names = [part.partition("\n")[0] for part in after[1:]]
    assert "convert-triton-to-tritongpu{target=cuda:90}" in names
    assert "emit-ptx" in names
    bodies = [part.partition("\n")[2] for part in after[1:-1]]
    assert all(a != b for a, b in itertools.pairwise(bodies))


def test_the_time_of_each_pass_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", ADD, "--signature", SIGNATURE, "--timings"]) == 0
    table = capsys.readouterr().err.splitlines()
    assert any(line.endswith(" tritongpu-coalesce") for line in table)
    assert table[-1].endswith("total")


def test_the_number_of_ops_after_each_pass_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", ADD, "--signature", SIGNATURE, "--statistics"]) == 0
    lines = capsys.readouterr().err.splitlines()
    coalesced = next(line for line in lines if line.endswith("after tritongpu-coalesce"))
    assert int(coalesced.split()[0]) > 10


def test_verification_after_each_pass_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(capsys, "--verify-each") == compiled(capsys)


def test_passes_can_be_left_out_moved_and_added(capsys: pytest.CaptureFixture[str]) -> None:
    edits = ["--skip", "canonicalize#2", "--move", "sccp before symbol-dce#2", "--insert", "symbol-dce after inline"]
    steps = [step.name for step in Pipeline.parse(compiled(capsys, *edits, "--emit", "pipeline").strip()).steps]
    usual = [step.name for step in Pipeline.parse(compiled(capsys, "--emit", "pipeline").strip()).steps]
    assert steps[:2] == ["inline", "symbol-dce"]
    assert steps.count("canonicalize") == usual.count("canonicalize") - 1
    assert steps.index("sccp") < usual.index("sccp")


def test_an_edit_that_says_not_where_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "says not where" in refused(capsys, "compile", ADD, "--signature", SIGNATURE, "--move", "sccp")


def test_a_printed_pipeline_given_back_makes_the_same_ptx(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = compiled(capsys, "--emit", "pipeline").strip()
    assert compiled(capsys, "--pipeline", pipeline) == compiled(capsys)


def test_a_pass_from_a_file_runs_each_time(capsys: pytest.CaptureFixture[str], plugin: tuple[str, Path]) -> None:
    name, path = plugin
    arguments = ["--load", str(path), "--pipeline", f"inline,canonicalize,{name}{{label=found}}", "--emit", "ttir"]
    for _ in range(2):
        assert compiled(capsys, *arguments).startswith("found 2\n")


def test_a_pass_from_a_file_is_documented(capsys: pytest.CaptureFixture[str], plugin: tuple[str, Path]) -> None:
    name, path = plugin
    assert main(["passes", name, "--load", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "Prints how many loads the module has." in shown
    assert "label: str = 'loads'" in shown
    assert "needs: structured control flow" in shown


def test_passes_are_listed_with_their_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    wanted = (
        "inline canonicalize cse symbol-dce triton-combine triton-reorder-broadcast triton-loop-unroll "
        "convert-triton-to-tritongpu tritongpu-coalesce tritongpu-remove-layout-conversions triton-licm "
        "tritongpu-reduce-data-duplication tritongpu-reorder-instructions triton-loop-aware-cse optimize-llvm-ir emit-ptx"
    )
    for name in wanted.split():
        assert len(lines[name].split()) > 2, f"{name} has no documentation"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pipeline", "tritongpu-coales"], "did you mean 'tritongpu-coalesce'?"),
        (["--pipeline", "cse{fast=true}"], "pass 'cse' lacks option 'fast'"),
        (["--pipeline", "tritongpu-coalesce"], "needs: tensor encodings present"),
        (["--pipeline", "optimize-llvm-ir{level=9}"], "optimize-llvm-ir: unknown level 9"),
        (["--pipeline", "inline", "--emit", "ptx"], "lacks stage 'ptx'"),
        (["--option", "num_warps=3"], "num_warps must be a power of 2"),
        (["--option", "num_warp=4"], "unknown compile option 'num_warp'"),
        (["--arch", "65"], "unsupported architecture sm_65"),
        (["--load", "no_such_file.py"], "cannot load 'no_such_file.py'"),
        (["--signature", "*fp32"], "no type given for parameter 'y_ptr'"),
        (["--signature", "*fp32,*fp32,*float,i32,BLOCK=16"], "'float' is not the name of an argument type"),
        (["--signature", "*fp32,*fp32,*fp32,i32,BLOCK=1000"], "arange's range must be a power of 2"),
        (["--signature", SIGNATURE + ",i32,i32"], "more types than parameters at 'i32'"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    given = ["compile", ADD, "--signature", SIGNATURE, *arguments]
    assert message in refused(capsys, *given)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no_such_file.py:kernel", "no such file: no_such_file.py"),
        (f"{KERNELS / 'vector_add.py'}:sub", "lacks kernel 'sub'"),
        (f"{KERNELS / 'reductions.py'}", "with one of: sum_rows, max_rows"),
        (__file__, "has no kernels"),
        ("no_such_file.ttir", "cannot read 'no_such_file.ttir'"),
        ("kernel.mlir", "unknown stage 'mlir'"),
    ],
)
def test_a_wrong_source_is_refused(capsys: pytest.CaptureFixture[str], source: str, message: str) -> None:
    assert message in refused(capsys, "compile", source)


def test_an_unknown_stage_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["compile", ADD, "--emit", "assembly"])
    assert "choose from" in capsys.readouterr().err


def test_an_unknown_option_is_answered_with_the_commands_own_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["search", "softmax", "--shop", "here.db"])
    said = capsys.readouterr().err
    assert said.startswith("usage: minitriton search") and "error: unrecognized arguments: --shop here.db" in said


def test_a_reader_of_the_output_may_leave_early() -> None:
    for command in (["minitriton", "passes"], ["minitriton.commands.opt", "--help"]):
        process = subprocess.Popen(
            [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == ""


def test_the_demo_ends_in_numbers_that_agree() -> None:
    """In a process of its own: what it uses it imports itself."""
    done = subprocess.run([sys.executable, "-m", "minitriton", "demo"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    for mark in ("== ttir", "== ttgir", "== llir", "== ptx", "max error", "they agree"):
        assert mark in shown


@pytest.fixture
def ttir(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> str:
    """A file with the TTIR of vector add."""
    path = tmp_path / "k.ttir"
    compiled(capsys, "--emit", "ttir", "-o", str(path))
    return str(path)


@pytest.mark.parametrize("spelling", ["-convert-triton-to-tritongpu=target=cuda:90 num-warps=8",
                                      "--convert-triton-to-tritongpu='target=cuda:90 num-warps=8'",
                                      "-convert-triton-to-tritongpu{target=cuda:90 num-warps=8}"])  # fmt: skip
def test_opt_takes_a_pass_with_options_in_each_spelling(
    capsys: pytest.CaptureFixture[str], ttir: str, spelling: str
) -> None:
    assert opt([ttir, spelling, "-tritongpu-coalesce"]) == 0
    shown = capsys.readouterr().out
    assert '"ttg.num-warps" = 8 : i32' in shown
    assert "sizePerThread = [4]" in shown


def test_opt_runs_a_pipeline_down_to_ptx(capsys: pytest.CaptureFixture[str], ttir: str) -> None:
    pipeline = compiled(capsys, "--emit", "pipeline").strip().rpartition(",assemble-ptx")[0]
    assert opt([ttir, f"--pass-pipeline=builtin.module({pipeline})"]) == 0
    assert capsys.readouterr().out == compiled(capsys)


@pytest.mark.skipif(not assembler_available(), reason="no assembler for PTX")
def test_opt_assembles(capsys: pytest.CaptureFixture[str], ttir: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(compiled(capsys))
    assert opt([str(tmp_path / "k.ptx"), "-assemble-ptx"]) == 0
    assert re.match(r"-> no limit +\d+ registers +0 bytes spilled +\d+ CTAs on an SM\n$", capsys.readouterr().out)
    assert opt([str(tmp_path / "k.ptx"), "-assemble-ptx{registers=unlimited}", "-o", str(tmp_path / "k.cubin")]) == 0
    assert (tmp_path / "k.cubin").read_bytes().startswith(b"\x7fELF")


def test_opt_takes_each_part_of_a_split_file_by_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = "tt.func @a() {\n  tt.return\n}\n// -----\ntt.func @a() {\n  %0 = arith.constant 0 : i32\n  tt.return\n}\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(parts))
    assert opt(["-", "-split-input-file", "-canonicalize"]) == 0
    first, second = capsys.readouterr().out.split("// -----")
    assert "@a" in first
    assert "@a" in second
    assert "arith.constant" not in second


def test_an_error_in_a_part_names_the_line_of_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = "tt.func @a() {\n  tt.return\n}\n// -----\ntt.func @b() {\n  tt.retrun\n}\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(parts))
    assert opt(["-", "-split-input-file"]) == 1
    printed = capsys.readouterr()
    assert "<stdin>:6:" in printed.err
    assert "@a" in printed.out


@pytest.mark.parametrize(
    ("flag", "message"),
    [("-cze", "unknown pass 'cze'"), ("-cse{a=b}", "lacks option 'a'"), ("-cse=a=b", "lacks option 'a'")],
)
def test_opt_refuses_wrong_flags(capsys: pytest.CaptureFixture[str], ttir: str, flag: str, message: str) -> None:
    assert opt([ttir, flag]) == 2
    assert message in capsys.readouterr().err


def test_a_failing_pass_leaves_a_reproducer_that_opt_replays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fails_until_mended_plugin.py"
    path.write_text(FAILS_UNTIL_MENDED.format(name="fails-until-mended"))
    monkeypatch.setenv("TRITON_REPRODUCER_PATH", str(tmp_path / "crashes"))
    arguments = ["--load", str(path), "--pipeline", "inline,fails-until-mended,cse", "--emit", "ttir"]
    with pytest.raises(ValueError, match="not mended"):
        main(["compile", ADD, "--signature", SIGNATURE, *arguments])
    reproducer = tmp_path / "crashes.make_ttir.repro.mlir"
    with pytest.raises(ValueError, match="not mended"):
        opt(["--run-reproducer", str(reproducer), "--load", str(path)])
    path.write_text(path.read_text().replace("MENDED = []", "MENDED = [True]"))
    assert opt(["--run-reproducer", str(reproducer), "--load", str(path)]) == 0
    assert "tt.func public @vector_add" in capsys.readouterr().out


def test_the_reproducer_of_a_late_step_is_replayed_from_its_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    llir = compiled(capsys, "--emit", "llir")
    path = tmp_path / "late.repro.mlir"
    write_reproducer(path, Pipeline.parse("emit-ptx"), llir)
    assert opt(["--run-reproducer", str(path)]) == 0
    assert ".visible .entry vector_add(" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--version"], ["cache", "path"]])
def test_a_command_that_compiles_nothing_imports_no_compiler(arguments):
    program = f"""
import sys
from minitriton.commands.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
print([name for name in ("xdsl", "numpy", "llvmlite") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


OF_TUPLES = """
import triton
import triton.language as tl

@triton.jit
def scaled(arrays, factors, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(arrays[0] + i, mask=i < n, other=0)
    tl.store(arrays[1][0] + i, x * factors[0] + factors[1], mask=i < n)
"""


@pytest.mark.parametrize(
    ("signature", "arguments"),
    [
        ("(*fp32:16, (*fp32,)), (fp32, 3), i32, BLOCK=64", "%arrays: !tt.ptr<f32> {tt.divisibility = 16 : i32} "),
        ("n=i32, factors=(2.5, i32:1), arrays=(*fp16, (*fp64:16,)), BLOCK=64", "%arrays: !tt.ptr<f16> loc"),
        ("(*fp32, (*fp32,)), (2, 3), i32, 64", "%arrays: !tt.ptr<f32> "),
    ],
)
def test_tuples_are_written_in_brackets(
    signature: str, arguments: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tuples.py").write_text(OF_TUPLES)
    command = [f"{tmp_path / 'tuples.py'}:scaled", "--signature", signature]
    assert main(["compile", *command, "--emit", "ttir"]) == 0
    assert arguments in capsys.readouterr().out
    assert main(["run", *command, "--arg", "n=64"]) == 0
    assert "arrays[1][0]: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("(*fp32, i32", "'(*fp32, i32' has a bracket that nothing closes"),
        ("(*fp32, what), i32, i32, BLOCK=64", "'what' is not the name of an argument type"),
        ("(*fp32:8, i32)", "unknown hint '8' in '*fp32:8'"),
    ],
)
def test_a_tuple_that_is_none_is_refused(
    signature: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tuples.py").write_text(OF_TUPLES)
    assert main(["compile", f"{tmp_path / 'tuples.py'}:scaled", "--signature", signature]) == 1
    assert message in capsys.readouterr().err


def test_a_file_that_launches_its_kernel_is_compiled_as_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "doubled.py"
    file.write_text(
        "import numpy as np\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef doubled(x, B: tl.constexpr):\n"
        "    i = tl.arange(0, B)\n    tl.store(x + i, tl.load(x + i) * 2)\n\n\n"
        'if __name__ == "__main__":\n    doubled[(1,)](np.ones(64, np.int64), B=64, num_warps=2)\n'
    )
    assert main(["compile", f"{file}:doubled", "--emit", "ttgir"]) == 0
    said = capsys.readouterr()
    assert "tensor<64xi64" in said.out and '"ttg.num-warps" = 2' in said.out and "launches it" in said.err
    assert main(["compile", f"{file}:doubled", "--emit", "ttgir", "--signature", "*i32,B=32"]) == 0
    assert "tensor<32xi32" in (said := capsys.readouterr()).out and "launches it" not in said.err
