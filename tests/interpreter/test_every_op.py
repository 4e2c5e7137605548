"""Every op of `tt`, `ttg`, `ttng` and `nvws` that a kernel for sm_80 to sm_90 can hold has a meaning; those of sm_100 are refused.

A new op of these dialects belongs to a table of `launch`, or to one of the lists here.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from minitriton.dialects.nvws import NVWS
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt import TT
from minitriton.dialects.ttg import TTG
from minitriton.dialects.ttng import TTNG
from minitriton.interpreter import interpret
from minitriton.interpreter import launch as meanings
from minitriton.interpreter.errors import UnsupportedOpError
from minitriton.interpreter.registry import is_forwarding_terminator

STRUCTURE = {"tt.func"}
"""Ops that hold others and are not run themselves."""

BLACKWELL = {
    "ttng.tc_gen5_commit", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tmem_alloc", "ttng.tmem_copy",
    "ttng.tmem_load", "ttng.tmem_store", "ttng.tmem_subslice", "nvws.aref.buffer", "nvws.aref.create",
    "nvws.aref.get.enter", "nvws.aref.get.exit", "nvws.aref.put.enter", "nvws.aref.put.exit", "nvws.descriptor_gather",
    "nvws.descriptor_load", "nvws.warp_group",
}  # fmt: skip
"""Ops of tensor memory, and those that Triton's passes for sm_100 use to plan partitions."""

KINDS = {op.name: op for dialect in (TT, TTG, TTNG, NVWS) for op in dialect.operations}
OPS = sorted(KINDS)


def has_meaning(name: str) -> bool:
    kind = KINDS[name]
    return kind in meanings.PURE_OPS or kind in meanings.STATEFUL_OPS or is_forwarding_terminator(kind.create())


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_a_meaning_or_is_on_a_list(name: str) -> None:
    lists = [name in STRUCTURE, name in BLACKWELL, has_meaning(name)]
    assert lists.count(True) == 1, f"{name} has a meaning, or else a reason to have none"


def test_the_lists_name_ops_that_there_are() -> None:
    assert set(OPS) >= STRUCTURE | BLACKWELL


@pytest.mark.parametrize("name", sorted(BLACKWELL))
def test_an_op_of_another_target_is_refused_at_its_line(name: str) -> None:
    module = parse_module("module { tt.func public @f() { tt.return } }")
    block = next(iter(module.ops)).regions[0].block
    op = KINDS[name].create()
    op.location = FileLineColLoc(StringAttr("k.py"), IntAttr(7), IntAttr(3))
    assert block.last_op is not None
    block.insert_op_before(op, block.last_op)
    with pytest.raises(UnsupportedOpError, match=f"does not support {re.escape(name)}") as caught:
        interpret(module, "f", [])
    assert str(caught.value.location) == "k.py:7:3"
    assert "help: " in str(caught.value)


def test_inline_ptx_is_refused_without_something_that_runs_it() -> None:
    asm = '%r = tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %n : i32 -> i32'
    text = f'module {{ tt.func public @f(%n: i32) {{ {asm} loc("k.py":7:3)\n tt.return }} }}'
    with pytest.raises(UnsupportedOpError, match=r"needs something that runs PTX") as caught:
        interpret(parse_module(text), "f", [3])
    assert str(caught.value.location) == "k.py:7:3"
    assert "minitriton.emulator.inline_assembly.evaluate" in str(caught.value)
