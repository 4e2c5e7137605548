"""Lanes of vectors are what they were made of, so that LLVM need not find that out."""

from __future__ import annotations

import pytest
from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block, SSAValue

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.builder import Builder
from minitriton.codegen.types import PTR, lanes, vector_type
from minitriton.compiler import ASTSource
from minitriton.dialects import llvm as ours
from minitriton.target import GPUTarget


def arguments(types: list[Attribute]) -> tuple[Builder, Block, list[SSAValue]]:
    body = Block(arg_types=types)
    return Builder(Block(), body), body, list(body.args)


def test_a_lane_of_a_packed_vector_is_the_scalar() -> None:
    builder, body, scalars = arguments([f32] * 16)
    vector = builder.pack(scalars)
    assert builder.extract(vector, 7) is scalars[7]
    builder.erase_unused_vectors()
    assert not list(body.ops)


def test_a_part_of_a_joined_vector_is_the_part() -> None:
    builder, body, pairs = arguments([vector_type(f32, 2)] * 8)
    vector = builder.concat(pairs)
    assert lanes(vector.type) == 16
    assert builder.permute(vector, (6, 7)) is pairs[3]
    builder.erase_unused_vectors()
    assert not list(body.ops)


def test_lanes_of_several_parts_are_packed_anew() -> None:
    builder, body, pairs = arguments([vector_type(f32, 2)] * 8)
    mixed = builder.permute(builder.concat(pairs), (1, 6))
    builder.fadd(mixed, mixed)
    builder.erase_unused_vectors()
    assert [op.name for op in body.ops if "pack" in op.name or "shuffle" in op.name] == ["llvm.pack"]
    assert mixed.owner.parent is body  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("used", [True, False])
def test_a_vector_stays_if_it_is_used(used: bool) -> None:
    builder, body, scalars = arguments([f32] * 16)
    vector = builder.pack(scalars)
    if used:
        builder.fadd(vector, vector)
    builder.erase_unused_vectors()
    assert any(isinstance(op, ours.PackOp) for op in body.ops) == used


@triton.jit
def scaled_sums(x_ptr, out_ptr, factor):
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + rows * 33 + columns)
    tl.store(out_ptr + columns, tl.sum(x * factor, 0)[None, :])


@triton.jit
def running_sums(x_ptr, out_ptr, factor):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + rows * 129 + columns)
    tl.store(out_ptr + rows * 129 + columns, tl.cumsum(x * factor, 0))


def optimized(kernel: object, element: str) -> str:
    signature = {"x_ptr": f"*{element}", "out_ptr": f"*{element}", "factor": element}
    source = ASTSource(kernel, signature, {}, {})  # pyright: ignore[reportArgumentType]
    return triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 1}).asm["llir"]


@pytest.mark.parametrize("kernel", [scaled_sums, running_sums], ids=lambda kernel: kernel.__name__)
def test_what_is_loaded_one_by_one_is_computed_and_combined_one_by_one(kernel: object) -> None:
    llvm_ir = optimized(kernel, "fp32")
    assert "fmul contract float" in llvm_ir
    assert "x float>" not in llvm_ir


def test_numbers_of_16_bits_stay_in_vectors_as_two_share_a_register() -> None:
    assert "x half>" in optimized(scaled_sums, "fp16")


def test_a_long_vector_is_added_by_blocks_in_the_order_of_its_lanes() -> None:
    builder, body, pairs = arguments([vector_type(f32, 4)] * 8)
    vector = builder.concat(pairs)
    total = builder.fadd(builder.fadd(vector, vector), vector)
    builder.store(builder.extract(total, 9), builder.poison(PTR))
    sums = [op for op in body.ops if isinstance(op, L.FAddOp)]
    assert [lanes(op.results[0].type) for op in sums] == [8] * 8
    results = [op.results[0] for op in sums]
    found = [[results.index(x) for x in op.operands if x in results] for op in sums]
    assert found == [[]] * 4 + [[0], [1], [2], [3]]
