"""LLVM IR has no instruction that a register of an index need not have, and is read once."""

from __future__ import annotations

import pytest
from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Block

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen import emission, ptx
from minitriton.codegen.builder import Builder
from minitriton.codegen.emission import EmitPTX, OptimizeLLVMIR
from minitriton.codegen.llvm_session import CheckedLLVMIR
from minitriton.codegen.registers import Range
from minitriton.compiler import ASTSource
from minitriton.dialects.llvm import GLOBAL, GEPOp
from minitriton.target import GPUTarget


def builder_with(*types: object) -> tuple[Builder, Block]:
    body = Block(arg_types=types)  # pyright: ignore[reportArgumentType]
    return Builder(Block(), body), body


def test_sums_and_products_of_constants_are_constants() -> None:
    b, body = builder_with()
    assert b.mul(b.i32(3), b.i32(256)) is b.i32(768)
    assert b.add(b.i32(3), b.i32(4)) is b.i32(7)
    assert b.or_disjoint(b.i32(0), b.i32(5)) is b.i32(5)
    assert not list(body.ops)


def test_a_sum_that_overflows_wraps_around() -> None:
    b, _ = builder_with()
    found = b.add(b.i32(2**31 - 1), b.i32(1))
    assert isinstance(found.owner, L.ConstantOp) and "-2147483648" in str(found.owner.value)


def test_equal_registers_of_a_range_are_one_sum() -> None:
    b, body = builder_with(i32)
    spread = Range(body.args[0], (0, 128) * 256, 0xFFFFFF80)
    assert len({spread.element(b, index) for index in range(512)}) == 2
    assert len(list(body.ops)) == 1


def test_a_range_that_starts_at_a_constant_needs_no_sum() -> None:
    b, body = builder_with()
    rows = Range(b.i32(0), tuple(range(64)), 0xFFFFFFFF)
    assert rows.element(b, 9) is b.i32(9)
    assert not list(body.ops)


def test_an_address_without_an_offset_is_its_base() -> None:
    b, body = builder_with(GLOBAL)
    assert b.gep(body.args[0], b.i32(0), f32) is body.args[0]


def test_of_a_root_a_constant_and_an_index_the_constant_comes_last_and_the_rest_is_shared() -> None:
    b, body = builder_with(GLOBAL, i32)
    root, index = body.args
    rows = [b.gep(root, b.i32(256 * row), f32) for row in range(1, 4)]
    places = [b.gep(row, index, f32) for row in rows]
    owners = [place.owner for place in places]
    assert all(isinstance(each, GEPOp) for each in owners)
    moved = {each.operands[0] for each in owners if isinstance(each, GEPOp)}
    assert len(moved) == 1 and next(iter(moved)).owner in set(body.ops)
    assert [each.operands[1] for each in owners if isinstance(each, GEPOp)] == [b.i32(256 * row) for row in range(1, 4)]
    after = Block()
    b.move_to(after)
    elsewhere = b.gep(rows[0], index, f32).owner
    assert isinstance(elsewhere, GEPOp) and elsewhere.operands[0].owner.parent is after  # pyright: ignore[reportAttributeAccessIssue]


KERNEL = """define ptx_kernel void @kernel(ptr addrspace(1) %x) {
  %a = load float, ptr addrspace(1) %x
  %b = fmul float %a, %a
  %c = fadd float %b, 1.0
  store float %c, ptr addrspace(1) %x
  ret void
}
"""


@pytest.mark.parametrize(("fusion", "reads", "found"), [(True, 1, "fma.rn.f32"), (False, 2, "mul.rn.f32")])
def test_a_module_with_products_is_read_once_where_they_may_be_fused(
    fusion: bool, reads: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    parse = ptx.parse_llvm_ir

    def counted(text: str, machine: object) -> object:
        nonlocal count
        count += 1
        return parse(text, machine)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(ptx, "parse_llvm_ir", counted)
    monkeypatch.setattr(emission, "parse_llvm_ir", counted)
    module = OptimizeLLVMIR().translate(CheckedLLVMIR(KERNEL))
    assert found in EmitPTX(enable_fp_fusion=fusion).translate(module)
    assert count == reads


@triton.jit(noinline=True)
def twice(x):
    return x + x


@triton.jit(noinline=True)
def four_times(x):
    return twice(x) + twice(x)


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, four_times(n))


def test_functions_are_not_declared_before_those_that_call_them() -> None:
    source = ASTSource(kernel, {"x_ptr": "*i32", "n": "i32"}, {}, {})
    ptx = triton.compile(source, GPUTarget("cuda", 90, 32), {}).asm["ptx"]
    assert ptx.count(".func ") == 2
    assert ptx.index("twice") < ptx.index("four_times") < ptx.index(".entry kernel")
