"""Every op of `tt`, `ttg`, `ttng` and `nvws` that a kernel for sm_80 to sm_90 can hold has a meaning, or is refused at its line."""

from __future__ import annotations

import pytest

from minitriton.dialects.nvws import NVWS
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt import TT
from minitriton.dialects.ttg import TTG
from minitriton.dialects.ttng import TTNG
from minitriton.interpreter import interpret, meanings
from minitriton.interpreter.errors import NoMeaning

STRUCTURE = {"tt.func", "ttg.warp_specialize.partitions"}
"""Ops that hold others and are not run themselves."""

REFUSED = {
    "tt.elementwise_inline_asm": '%r = tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %n : i32 -> i32',
    "ttng.cluster_arrive": "ttng.cluster_arrive {relaxed = false}",
    "ttng.cluster_wait": "ttng.cluster_wait",
}
"""PTX text, and what orders the CTAs of a cluster: each program runs by itself."""

BLACKWELL = {
    "ttng.tc_gen5_commit", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tmem_alloc", "ttng.tmem_copy",
    "ttng.tmem_load", "ttng.tmem_store", "ttng.tmem_subslice", "nvws.aref.buffer", "nvws.aref.create",
    "nvws.aref.get.enter", "nvws.aref.get.exit", "nvws.aref.put.enter", "nvws.aref.put.exit", "nvws.descriptor_gather",
    "nvws.descriptor_load", "nvws.warp_group", "nvws.warp_group.return", "nvws.warp_group.yield",
}  # fmt: skip
"""Ops of sm_100."""

OPS = sorted(op.name for dialect in (TT, TTG, TTNG, NVWS) for op in dialect.operations)


def has_meaning(name: str) -> bool:
    return name in meanings.PURE or name in meanings.WITH_MACHINE or name in meanings.TERMINATORS


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_a_meaning_or_is_on_a_list(name: str) -> None:
    lists = [name in STRUCTURE, name in REFUSED, name in BLACKWELL, has_meaning(name)]
    assert lists.count(True) == 1, f"{name} has a meaning, or else a reason to have none"


def test_the_lists_name_ops_that_there_are() -> None:
    assert STRUCTURE | set(REFUSED) | BLACKWELL <= set(OPS)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_op_is_named_at_its_line(name: str) -> None:
    text = f'module {{ tt.func public @f(%n: i32) {{ {REFUSED[name]} loc("k.py":7:3)\n tt.return }} }}'
    with pytest.raises(NoMeaning, match=f"no meaning for {name}") as caught:
        interpret(parse_module(text), "f", [3])
    assert str(caught.value.location) == "k.py:7:3"
    assert "help: " in str(caught.value)
