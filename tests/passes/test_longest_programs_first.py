"""`minitriton-longest-programs-first`: programs with more iterations start earlier, and every program is some program still."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dot_sources import dot_sources
from filecheck_ir import check, run

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.passes.longest_programs_first import LongestProgramsFirst
from minitriton.target import GPUTarget
from minitriton_kernels.cases import load_kernels

PASS = LongestProgramsFirst()


def module(bounds: str, more: str = "", before: str = "", grid: str = "%x = tt.get_program_id x : i32") -> str:
    """A kernel of one loop: `bounds` gives `%low` and `%high`, from `%x`, `%n` and constants; `more` stands in the loop."""
    return f"""
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%p: !tt.ptr<i32>, %n: i32) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c128 = arith.constant 128 : i32
    {grid}
    {before}
    {bounds}
    scf.for %i = %low to %high step %c1 : i32 {{
      %q = tt.addptr %p, %i : !tt.ptr<i32>, i32
      tt.store %q, %x : !tt.ptr<i32>
      {more}
    }}
    tt.return
  }}
}}
"""


UP_TO_OWN_ROWS = "%high = arith.muli %x, %c128 : i32\n%low = arith.addi %c0, %c0 : i32"


def is_renumbered(text: str) -> bool:
    return "get_num_programs" in run(text, PASS)


def test_one_axis_is_turned_round() -> None:
    check(
        module(UP_TO_OWN_ROWS),
        PASS,
        """
        // CHECK: %[[X:.*]] = tt.get_program_id x
        // CHECK: %[[N:.*]] = tt.get_num_programs x
        // CHECK: %[[ONE:.*]] = arith.constant 1
        // CHECK: %[[LAST:.*]] = arith.subi %[[N]], %[[ONE]]
        // CHECK: %[[NEW:.*]] = arith.subi %[[LAST]], %[[X]]
        // CHECK-NOT: tt.get_program_id
        // CHECK: arith.muli %[[NEW]]
        // CHECK: tt.store %{{.*}}, %[[NEW]]
        """,
    )


@pytest.mark.parametrize(
    "bounds",
    [
        UP_TO_OWN_ROWS,
        "%end = arith.muli %x, %c128 : i32\n%high = arith.minsi %end, %n : i32\n%low = arith.addi %c0, %c0 : i32",
        "%low = arith.subi %c0, %x : i32\n%high = arith.addi %c1, %c1 : i32",
        "%end = arith.muli %x, %n : i32\n%high = arith.divsi %end, %c128 : i32\n%low = arith.addi %c0, %c0 : i32",
        "%end = arith.shli %x, %c1 : i32\n%high = arith.maxsi %end, %c1 : i32\n%low = arith.addi %c0, %c0 : i32",
    ],
    ids=["product", "minimum", "start", "quotient", "shift"],
)
def test_loops_that_grow_are_seen(bounds: str) -> None:
    assert is_renumbered(module(bounds))


@pytest.mark.parametrize(
    "bounds",
    [
        "%low = arith.addi %c0, %c0 : i32\n%high = arith.addi %n, %c1 : i32",
        "%low = arith.muli %x, %c128 : i32\n%high = arith.addi %low, %c128 : i32",
        "%low = arith.muli %x, %c128 : i32\n%high = arith.addi %n, %c1 : i32",
        "%high = arith.subi %n, %x : i32\n%low = arith.addi %c0, %c0 : i32",
    ],
    ids=["the same in all", "a window", "to the end", "less and less"],
)
def test_loops_that_do_not_grow_leave_the_numbers(bounds: str) -> None:
    assert not is_renumbered(module(bounds))


def test_two_axes_that_grow_leave_the_numbers() -> None:
    grid = "%x = tt.get_program_id x : i32\n%y = tt.get_program_id y : i32"
    bounds = "%low = arith.addi %c0, %c0 : i32\n%high = arith.addi %x, %y : i32"
    assert not is_renumbered(module(bounds, grid=grid))


@pytest.mark.parametrize(
    "more",
    [
        "%old = tt.atomic_rmw add, acq_rel, gpu, %q, %c1 : (!tt.ptr<i32>, i32) -> i32",
        "%v = tt.load %q {isVolatile = true} : !tt.ptr<i32>",
        'tt.print "x" {hex = false, isSigned = array<i32: 1>} : %x : i32',
        'tt.assert %true, "no" : i1',
        "%v = scf.while (%a = %c0) : (i32) -> i32 {\n%t = arith.cmpi slt, %a, %n : i32\nscf.condition(%t) %a : i32\n} do {\n^bb0(%a: i32):\nscf.yield %a : i32\n}",
    ],
    ids=["atomics", "volatile loads", "printing", "assertions", "while"],
)
def test_programs_that_may_meet_keep_their_numbers(more: str) -> None:
    before = "%true = arith.constant true"
    assert not is_renumbered(module(UP_TO_OWN_ROWS, more, before))
    assert is_renumbered(module(UP_TO_OWN_ROWS, "", before))


@triton.jit
def triangle(out, columns, BLOCK: tl.constexpr):
    x, y = tl.program_id(0), tl.program_id(1)
    total = 0
    for start in range(0, x * BLOCK, BLOCK):
        total += start + y
    tl.store(out + y * columns + x, total)


@triton.jit
def triangle_of_rows(out, columns, BLOCK: tl.constexpr):
    x, y = tl.program_id(0), tl.program_id(1)
    total = 0
    for start in range(0, (y + 1) * BLOCK, BLOCK):
        total += start + x
    tl.store(out + y * columns + x, total)


def _sums(kernel: object, columns: int, rows: int, block: int) -> np.ndarray:
    x, y = np.arange(columns)[None], np.arange(rows)[:, None]
    if kernel is triangle:
        return block * x * (x - 1) // 2 + x * y
    return block * y * (y + 1) // 2 + (y + 1) * x


@pytest.mark.parametrize("grid", [(1, 1), (7, 1), (5, 6), (64, 3), (65, 2), (32, 4), (32, 7), (2, 9)])
@pytest.mark.parametrize("kernel", [triangle, triangle_of_rows], ids=["along x", "along y"])
def test_every_program_is_some_program(kernel: triton.JITFunction, grid: tuple[int, int]) -> None:
    columns, rows = grid
    out = np.full((rows, columns), -1, np.int32)
    compiled = kernel[grid](out, columns, BLOCK=4, num_warps=8)
    assert re.search(r"nctaid\.[xy]", compiled.asm["ptx"])
    np.testing.assert_array_equal(out, _sums(kernel, columns, rows, 4))
    plain = kernel[grid](out, columns, BLOCK=4, num_warps=8, without="minitriton-longest-programs-first")
    assert "nctaid" not in plain.asm["ptx"]


def _numbers(columns: int, rows: int, at_once: int = 128) -> list[tuple[int, int]]:
    """What the programs of a grid become, in the order of their start: the rule of the docstring."""
    group = 4 if columns <= at_once // 4 else 2 if columns <= at_once // 2 else 1
    found: list[tuple[int, int]] = []
    for y in range(rows):
        for x in range(columns):
            first = y - y % group
            place = (y % group) * columns + x
            whole = first + group <= rows
            found.append((columns - 1 - (place // group if whole else x), first + place % group if whole else y))
    return found


@triton.jit
def order(out, columns, BLOCK: tl.constexpr):
    x, y = tl.program_id(0), tl.program_id(1)
    started_x = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.x;", "=r", [], tl.int32, True, 1)
    started_y = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.y;", "=r", [], tl.int32, True, 1)
    place = out + started_y * columns + started_x
    for start in range(0, x * BLOCK, BLOCK):
        tl.store(place, start)
    tl.store(place, x + y * 1000)


@pytest.mark.parametrize("grid", [(7, 1), (5, 6), (64, 3), (65, 2), (32, 7), (128, 2)])
def test_the_longest_come_first_in_groups_of_rows(grid: tuple[int, int]) -> None:
    columns, rows = grid
    out = np.full(rows * columns, -1, np.int32)
    order[grid](out, columns, BLOCK=4, num_warps=8)
    assert [(n % 1000, n // 1000) for n in out.tolist()] == _numbers(columns, rows)


def test_attention_by_descriptors_is_renumbered() -> None:
    """Its stores by descriptors read and write memory, but tell it nothing of other programs."""
    case = dot_sources()["causal d128"]
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    source = ASTSource(kernel, case.signature, case.constexprs_of("minitriton"), case.attributes)
    assert (
        "get_num_programs"
        in triton.compile(source, GPUTarget("cuda", 90, 32), dict(case.options), assemble=False).asm["ttgir"]
    )
