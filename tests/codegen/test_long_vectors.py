"""Lanes of long vectors are what they were made of, so that LLVM need not find that out."""

from __future__ import annotations

import pytest
from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block, SSAValue

from minitriton.codegen.builder import LONG, Builder
from minitriton.codegen.types import lanes, vector_type


def arguments(types: list[Attribute]) -> tuple[Builder, Block, list[SSAValue]]:
    body = Block(arg_types=types)
    return Builder(Block(), body), body, list(body.args)


def test_a_lane_of_a_packed_vector_is_the_scalar() -> None:
    builder, body, scalars = arguments([f32] * LONG)
    vector = builder.pack(scalars)
    assert builder.extract(vector, 77) is scalars[77]
    builder.erase_unused_vectors()
    assert not [op for op in body.ops if isinstance(op, L.InsertElementOp)]


def test_a_part_of_a_joined_vector_is_the_part() -> None:
    builder, body, pairs = arguments([vector_type(f32, 2)] * (LONG // 2))
    vector = builder.concat(pairs)
    assert lanes(vector.type) == LONG
    assert builder.permute(vector, (6, 7)) is pairs[3]
    builder.erase_unused_vectors()
    assert not list(body.ops)


def test_lanes_of_several_parts_are_packed_anew() -> None:
    builder, body, pairs = arguments([vector_type(f32, 2)] * (LONG // 2))
    mixed = builder.permute(builder.concat(pairs), (1, 6))
    builder.erase_unused_vectors()
    assert [op.name for op in body.ops if "insert" in op.name or "shuffle" in op.name] == ["llvm.insertelement"] * 2
    assert mixed.owner.parent is body  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("used", [True, False])
def test_a_long_vector_stays_if_it_is_used(used: bool) -> None:
    builder, body, scalars = arguments([f32] * LONG)
    vector = builder.pack(scalars)
    if used:
        builder.fadd(vector, vector)
    builder.erase_unused_vectors()
    assert len([op for op in body.ops if isinstance(op, L.InsertElementOp)]) == (LONG if used else 0)
