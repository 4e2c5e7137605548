"""The names of Triton's extension for what a module holds, and sources called as Triton calls them."""

from __future__ import annotations

import sys
from pathlib import Path

import llvmlite.binding as llvmlite
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton._C import libtriton
from minitriton._C.libtriton import ir, llvm
from minitriton._C.libtriton.linear_layout import LinearLayout
from minitriton.compiler import ASTSource, IRSource
from minitriton.dialects.bindings import ModuleView, OperationView
from minitriton.errors import IRError, MinitritonError
from minitriton.target import CUDAOptions, GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


@triton.jit
def total(a, b):
    return a + b


@triton.jit
def adds(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for _ in range(n):
        tl.store(out + i, total(tl.load(x + i), 1.0))


SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def module_of_adds() -> ModuleView:
    """The frontend's module, asked for as Triton's callers do."""
    source = ASTSource(adds, SIGNATURE, {"BLOCK": 16})
    return source.make_ir(HOPPER, CUDAOptions(), {}, {}, ir.context())


def test_a_walk_meets_every_op_after_those_inside_it() -> None:
    names: list[str] = []
    module_of_adds().walk(lambda op: names.append(op.get_name()))
    assert names[-1] == "builtin.module"
    assert names.index("tt.load") < names.index("scf.for") < names.index("tt.func")
    assert names.count("tt.func") == 2 and "tt.call" in names


def test_values_are_known_by_their_ids() -> None:
    defined: dict[int, str] = {}
    used: list[int] = []

    def visit(op: OperationView) -> None:
        for index in range(op.get_num_results()):
            defined[op.get_result(index).id()] = op.get_name()
        used.extend(op.get_operand(index).id() for index in range(op.get_num_operands()))
        block = op.get_block()
        if block is not None:
            defined.update({block.get_argument(i).id(): "argument" for i in range(block.get_num_arguments())})

    module = module_of_adds()
    module.walk(visit)
    assert used and all(value in defined for value in used)
    assert {"tt.load", "tt.call", "argument"} <= {defined[value] for value in used}


def test_attributes_are_read_by_their_kind() -> None:
    found: dict[str, OperationView] = {}
    module_of_adds().walk(lambda op: found.setdefault(op.get_name(), op))
    assert found["tt.call"].get_flat_symbol_ref_attr("callee") is not None
    assert found["tt.call"].get_str_attr("callee") is None
    assert found["tt.func"].get_str_attr("sym_name") is not None
    assert found["tt.func"].get_bool_attr("noinline") is False
    assert found["tt.make_range"].get_int_attr("end") == 16
    assert found["tt.make_range"].get_bool_attr("end") is None


def test_regions_and_blocks_say_how_they_are_built() -> None:
    module = module_of_adds()
    function = module.get_function("adds")
    region = function.get_region(0)
    assert (region.size(), region.empty(), function.get_num_regions()) == (1, False, 1)
    block = function.args(0)
    assert str(block.get_type()) == "!tt.ptr<f32>"
    loops: list[OperationView] = []
    module.walk(lambda op: loops.append(op) if op.get_name() == "scf.for" else None)
    inside = loops[0].get_block()
    assert inside is not None and inside.has_return() and inside.has_terminator()
    assert inside.get_parent() == region
    assert module.get_block() is None


def test_a_module_is_asked_for_its_functions() -> None:
    module = module_of_adds()
    assert module.get_entry_func_name() == "adds"
    assert module.has_function("adds") and not module.has_function("other")
    assert module.get_function_signature(module.get_function("adds")) == ["*f32", "*f32", "i32"]
    assert module.verify()
    with pytest.raises(KeyError):
        module.get_function("other")


def test_a_module_prints_with_and_without_locations(capsys: pytest.CaptureFixture[str]) -> None:
    module = module_of_adds()
    assert "loc(" in module.str() and "loc(" not in module.str_nodebug()
    module.dump()
    assert capsys.readouterr().err.strip() == str(module).strip()


TTGIR = """
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @fills(%out: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %value: f16, %desc: !tt.ptr<i8, 0> {tt.nv_tma_desc = 1 : i32}) attributes {noinline = false} {
    tt.store %out, %value : !tt.ptr<f16>
    tt.return
  }
}
"""


def test_ir_text_has_triton_s_names_and_launches_ours(tmp_path: Path) -> None:
    path = tmp_path / "fills.ttgir"
    path.write_text(TTGIR)
    context = ir.context()
    source = IRSource(str(path), context, None)
    assert source.name == "@fills"
    assert source.signature == {0: "*f16", 1: "f16", 2: "nvTmaDesc"}
    assert source.runtime_parameters()[:2] == ["*fp16", "fp16"]
    assert source.parse_options() == {"num_warps": 8, "num_ctas": 1}
    module = source.make_ir(HOPPER, CUDAOptions(), codegen_fns={}, module_map={}, context=context)
    assert isinstance(module, ModuleView) and module.get_entry_func_name() == "fills"


def test_files_are_read_as_modules(tmp_path: Path) -> None:
    path = tmp_path / "fills.ttgir"
    path.write_text(TTGIR)
    assert ir.parse_mlir_module(path, ir.context()).get_int_attr("ttg.num-warps") == 8
    path.write_text("module { nonsense }")
    with pytest.raises(IRError):
        ir.parse_mlir_module(path, ir.context())


def test_a_name_that_the_extension_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        libtriton.proton  # noqa: B018
    assert libtriton.linear_layout.LinearLayout is LinearLayout
    assert sys.modules["minitriton._C"].libtriton is libtriton


def test_device_functions_are_linked_into_llvm_modules(tmp_path: Path) -> None:
    library = tmp_path / "lib.ll"
    library.write_text("define float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n")
    llvm.init_targets()
    module = llvmlite.parse_assembly(
        "declare float @twice(float)\ndefine float @f(float %x) {\n  %y = call float @twice(float %x)\n  ret float %y\n}\n"
    )
    llvm.link_extern_libs(module, [str(library)])
    assert "define internal float @twice" in str(module)


def test_environment_variables_that_change_results_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "1")
    monkeypatch.delenv("DISABLE_LLVM_OPT", raising=False)
    found = libtriton.get_cache_invalidating_env_vars()
    assert found["DISABLE_PTXAS_OPT"] == "1" and "DISABLE_LLVM_OPT" not in found
    assert libtriton.getenv("DISABLE_PTXAS_OPT") == "1" and libtriton.getenv("DISABLE_LLVM_OPT", "no") == "no"
    assert libtriton.getenv_bool("DISABLE_PTXAS_OPT", False) and not libtriton.getenv_bool("DISABLE_LLVM_OPT", False)
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "perhaps")
    with pytest.raises(MinitritonError, match="neither true nor false"):
        libtriton.getenv_bool("DISABLE_PTXAS_OPT", False)
