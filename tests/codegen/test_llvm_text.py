"""LLVM IR text: what it says, and that LLVM and ptxas take it."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from emitting import compiled_ptx
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerAttr

from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.codegen import llvm_session
from minitriton.codegen.convert_triton_gpu_to_llvm import ConvertTritonGPUToLLVM, lower_module
from minitriton.codegen.llvm_text import write_module
from minitriton.codegen.scratch import scratch_bytes
from minitriton.codegen.text.values import float_text, string_text, symbol_text
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.errors import IRError, LoweringError
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.target import CUDAOptions, GPUTarget

HOPPER = GPUTarget("cuda", 90)

KERNEL = """
#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#loc = loc("k.py":3:0)
#loc1 = loc("k.py":4:8)
#loc2 = loc("lib.py":7:2)
#loc3 = loc(callsite(#loc2 at #loc1))
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @fma(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(#loc), %n: i32 loc(#loc)) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #b> loc(#loc1)
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #b> loc(#loc1)
    %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>, #b>, tensor<1024xi32, #b> loc(#loc1)
    %ns = tt.splat %n : i32 -> tensor<1024xi32, #b> loc(#loc1)
    %m = arith.cmpi slt, %r, %ns : tensor<1024xi32, #b> loc(#loc1)
    %other = arith.constant dense<1.5> : tensor<1024xf32, #b> loc(#loc1)
    %v = tt.load %xp, %m, %other : tensor<1024x!tt.ptr<f32>, #b> loc(#loc1)
    %w = arith.mulf %v, %v : tensor<1024xf32, #b> loc(#loc3)
    %y = arith.addf %w, %v : tensor<1024xf32, #b> loc(#loc3)
    tt.store %xp, %y : tensor<1024x!tt.ptr<f32>, #b> loc(#loc1)
    tt.return loc(#loc1)
  } loc(#loc)
} loc(#loc)
"""


def written(text: str, *, line_info: bool = True) -> str:
    """LLVM IR text of TTGIR text."""
    module = parse_module(text)
    return write_module(lower_module(module, allocate(module, scratch_bytes)), line_info=line_info)


def assemble(text: str, arch: str = "sm_90a") -> None:
    """Runs a `ptxas` on PTX, if there is one."""
    found = os.environ.get("MINITRITON_PTXAS") or shutil.which("ptxas") or _ptxas_of_triton()
    if found is None:
        pytest.skip("no ptxas")
    result = subprocess.run(
        [found, f"--gpu-name={arch}", "-o", os.devnull, "/dev/stdin"], input=text, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def _ptxas_of_triton() -> str | None:
    triton = pytest.importorskip("triton")
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    return str(path) if path.exists() else None


def test_a_kernel_has_its_convention_its_threads_and_two_hidden_arguments():
    text = written(KERNEL)
    assert (
        "define ptx_kernel void @fma(ptr addrspace(1) %a0, i32 %a1, ptr addrspace(1) %a2, ptr addrspace(1) %a3)" in text
    )
    assert '"nvvm.reqntid"="128"' in text


def test_a_masked_load_is_one_predicated_instruction_per_vector_with_its_other_value_as_an_immediate():
    text = written(KERNEL)
    # The mask has no known run of equal elements (n is any number), so the load is element by element.
    assert text.count("@$2 ld.global.b32 $0, [ $1 + 0 ];") == 8
    assert text.count("mov.b32 $0, 0x3fc00000;") == 8


def test_an_unmasked_store_is_a_plain_vector_store():
    stores = re.findall(r"store <4 x float> %\w+, ptr addrspace\(1\) %\w+, align 16", written(KERNEL))
    assert len(stores) == 2


def test_locations_become_line_tables_and_inlined_places():
    text = written(KERNEL)
    assert re.search(r'distinct !DISubprogram\(name: "fma".*line: 3', text)
    inner = re.search(r"!DILocation\(line: 7, column: 2, scope: !(\d+), inlinedAt: !(\d+)\)", text)
    assert inner
    assert f"!{inner[2]} = !DILocation(line: 4, column: 8" in text
    assert re.search(rf"!{inner[1]} = !DILexicalBlockFile\(scope: !\d+, file: !\d+, discriminator: 0\)", text)
    emitted = compiled_ptx(text, HOPPER, CUDAOptions())
    assert ".loc" in emitted and "k.py" in emitted
    assemble(emitted)


def test_without_line_information_there_is_none():
    text = written(KERNEL, line_info=False)
    assert "!dbg" not in text and "DISubprogram" not in text


def test_multiplications_and_additions_are_fused_only_if_asked():
    text = written(KERNEL, line_info=False)
    fused = compiled_ptx(text, HOPPER, CUDAOptions())
    assert "fma.rn.f32" in fused and "mul.f32" not in fused
    apart = compiled_ptx(text, HOPPER, CUDAOptions(enable_fp_fusion=False))
    assert "fma.rn" not in apart and "mul.rn.f32" in apart and "add.rn.f32" in apart
    again = compiled_ptx(text, HOPPER, CUDAOptions())
    assert again == fused


@pytest.mark.parametrize("arch,name", [(80, "sm_80"), (86, "sm_86"), (89, "sm_89"), (90, "sm_90a")])
def test_every_architecture_gets_its_target_and_assembles(arch, name):
    text = written(KERNEL.replace("cuda:90", f"cuda:{arch}"), line_info=False)
    emitted = compiled_ptx(text, GPUTarget("cuda", arch), CUDAOptions())
    assert f".target {name}" in emitted and ".version 8.7" in emitted
    assemble(emitted, name)


def test_text_from_elsewhere_is_read_in_a_child_process_first():
    with pytest.raises(IRError, match="not valid LLVM IR"):
        llvm_session.check_in_child("define void @f() { ret i32 %x }")


def test_an_unknown_ptx_version_is_refused_before_llvm_ends_the_process():
    with pytest.raises(Exception, match="ptx_version must be at most 999, got 1234"):
        compiled_ptx("", HOPPER, CUDAOptions(ptx_version=1234))


def test_an_op_without_a_rule_is_an_error_at_its_place():
    text = KERNEL.replace("arith.mulf %v, %v", "math.trunc %v").replace(
        "tensor<1024xf32, #b> loc(#loc3)\n    %y", "tensor<1024xf32, #b> loc(#loc3)\n    %y", 1
    )
    with pytest.raises(LoweringError) as error:
        written(text)
    assert str(error.value).startswith("lib.py:7:2: error: no lowering to LLVM for 'math.trunc'")


@pytest.mark.parametrize(
    "number,type_,text",
    [
        (1.5, Float32Type(), "0x3FF8000000000000"),
        (0.1, Float32Type(), "0x3FB99999A0000000"),
        (-math.inf, Float32Type(), "0xFFF0000000000000"),
        (1.5, Float16Type(), "0xH3E00"),
        (1e9, Float16Type(), "0xH7C00"),
        (1.5, BFloat16Type(), "0xR3FC0"),
        (1.00390625, BFloat16Type(), "0xR3F80"),
    ],
)
def test_floats_are_spelled_by_their_bits(number, type_, text):
    assert float_text(number, type_) == text


def test_symbols_and_strings_are_quoted_where_they_must_be():
    assert symbol_text("add_kernel") == "@add_kernel"
    assert symbol_text("m.f__(0,)c") == '@"m.f__(0,)c"'
    assert string_text('a"\n\0') == 'c"a\\22\\0A\\00"'


def test_the_llvm_level_is_text_that_can_be_read_again():
    module = parse_module(KERNEL)
    lowered = lower_module(module, allocate(module, scratch_bytes))
    again = parse_module(print_module(lowered))
    again.verify()
    assert write_module(again, line_info=False) == write_module(lowered, line_info=False)


def test_the_pass_replaces_the_module_and_says_how_much_shared_memory_it_needs():
    module = parse_module(KERNEL)
    Pipeline.parse("place-shared-memory").steps[0].apply(make_context(), module)
    ConvertTritonGPUToLLVM().apply(make_context(), module)
    module.verify()
    assert [op.name for op in module.ops] == ["llvm.func"]
    assert module.attributes["ttg.shared"] == IntegerAttr(0, 32)


def test_what_the_pass_placed_itself_it_places_again_when_it_runs_again():
    """Two buffers that are never alive together share their bytes; once a pass has moved the first one's load, they may not."""
    buffer = "!ttg.memdesc<64xf32, #shared, #smem>"
    module = parse_module(f"""
#blocked = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}}>
#rows = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [2, 1], order = [1, 0]}}>
#columns = #ttg.blocked<{{sizePerThread = [8, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 2], order = [0, 1]}}>
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-warps" = 2 : i32, "ttg.num-ctas" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
tt.func @k(%x: tensor<64xf32, #blocked>, %tile: tensor<128x128xf16, #rows>) {{
  %turned = ttg.convert_layout %tile : tensor<128x128xf16, #rows> -> tensor<128x128xf16, #columns>
  %a = ttg.local_alloc %x : (tensor<64xf32, #blocked>) -> {buffer}
  %u = ttg.local_load %a : {buffer} -> tensor<64xf32, #blocked>
  %b = ttg.local_alloc %x : (tensor<64xf32, #blocked>) -> {buffer}
  %v = ttg.local_load %b : {buffer} -> tensor<64xf32, #blocked>
  tt.return
}}
}}""")
    place = Pipeline.parse("place-shared-memory").steps[0]
    place.apply(make_context(), module)
    allocs = [op for op in module.walk() if op.name == "ttg.local_alloc"]
    offsets = lambda: [op.attributes["allocation.offset"].value.data for op in allocs]  # noqa: E731
    assert offsets() == [0, 0]
    load, last = allocs[0].next_op, allocs[1].next_op
    load.detach()
    load.parent = None
    last.parent.insert_op_after(load, last)
    # Nor do its places bind what looks for free memory in between.
    Pipeline.parse("minitriton-use-free-shared-memory").steps[0].apply(make_context(), module)
    place.apply(make_context(), module)
    assert sorted(offsets()) == [0, 256]
    assert module.attributes["ttg.shared"].value.data >= 512
