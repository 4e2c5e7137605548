"""How compile time grows: twice the kernel, twice the work. Work is counted in calls, which are the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from counted_calls import calls_in
from growth_families import FAMILIES, Program
from xdsl.ir import Operation

import minitriton
from minitriton.analysis.shared_memory.offset_assignment import assign_offsets
from minitriton.compiler import ASTSource
from minitriton.dialects import tt
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.pipelining.pipeline import PipelineLoops
from minitriton.passes.sccp import Sccp
from minitriton.target import GPUTarget
from minitriton_kernels.cases import load_kernels

HOPPER = GPUTarget("cuda", 90, 32)


def work_of(program: Program, folder: Path, name: str) -> int:
    """Calls that compiling `program` to PTX takes."""
    path = folder / f"{name}.py"
    path.write_text(program.text)
    kernel = load_kernels(str(path.with_suffix("")), "minitriton").kernel
    source = ASTSource(kernel, program.signature, program.constexprs, program.attributes)
    options = {"num_warps": program.num_warps}
    return calls_in(lambda: minitriton.compile(source, HOPPER, options, hooks=[], assemble=False))


GROWING = {
    "statements": 8,
    "pointwise": 10,
    "scalars": 8,
    "loads": 8,
    "same loads": 8,
    "live loads": 6,
    "stores": 8,
    "unrolled": 5,
    "loops": 4,
    "nested loops": 8,
    "carried values": 4,
    "equal values in a loop": 5,
    "while loops": 4,
    "branches": 5,
    "branches on tiles": 5,
    "returns": 5,
    "elifs": 8,
    "arguments": 6,
    "calls": 6,
    "different calls": 6,
    "calls not inlined": 4,
    "conversions": 3,
    "reductions": 3,
    "scans": 2,
    "dots": 3,
    "wheres": 6,
    "nested branches": 8,
    "branches at compile time": 6,
    "tuples": 8,
    "random numbers": 2,
    "block pointers": 3,
    "descriptors": 3,
    "gathers": 4,
    "histograms": 4,
    "products": 3,
}
"""Families and the size that is doubled: from it on a compile's fixed part does not hide growth."""


@pytest.fixture
def every_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compile finds its result in the cache."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")


def works(family: str, sizes: tuple[int, ...], folder: Path) -> list[int]:
    """The work of each size, when all that is remembered from one compile to the next is there."""
    name = "grown_" + family.replace(" ", "_")
    return [work_of(FAMILIES[family].program(n), folder, f"{name}_{i}") for i, n in enumerate((sizes[0], *sizes))][1:]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", GROWING)
@pytest.mark.usefixtures("every_compile")
def test_twice_the_kernel_takes_twice_the_work(family: str, tmp_path: Path) -> None:
    small = GROWING[family]
    sizes = (small, 2 * small, 4 * small)
    for attempt in (
        "first",
        "again",
    ):  # a table with a bound that other tests have filled may be emptied once, in the midst of it
        folder = tmp_path / attempt
        folder.mkdir()
        found = works(family, sizes, folder)
        first, second = found[1] - found[0], found[2] - found[1]
        if second < 2.5 * first:
            break
    assert second < 2.5 * first, f"{family}: {found} calls at {sizes}"


def grows_no_faster_than_n_log_n(found: list[int]) -> bool:
    """Whether from 2n to 4n little more than twice the work is added that is added from n to 2n."""
    return found[2] - found[1] < 2.3 * (found[1] - found[0])


DEEP = {"elifs": 60}
"""Families nested as deep as they are large, and the size from which a walk to the root for each op is seen."""


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    """What is compiled on a deeper stack otherwise, in a thread of its own, is counted too."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("family", DEEP)
@pytest.mark.usefixtures("every_compile", "deep_recursion")
def test_twice_the_depth_takes_twice_the_work(family: str, tmp_path: Path) -> None:
    small = DEEP[family]
    sizes = (small, 2 * small, 4 * small)
    found = works(family, sizes, tmp_path)
    assert grows_no_faster_than_n_log_n(found), f"{family}: {found} calls at {sizes}"


@pytest.mark.usefixtures("deep_recursion")
def test_twice_as_deep_loops_take_the_pipeliner_twice_as_long() -> None:
    found: list[int] = []
    for depth in (50, 50, 100, 200):
        body = "".join(f"scf.for %i{i} = %n to %n step %n : i32 {{\n" for i in range(depth)) + "}\n" * depth
        module = parse_module(f"module {{ tt.func @f(%n: i32) {{\n{body}tt.return }} }}")
        found.append(calls_in(partial(PipelineLoops().apply, make_context(), module)))
    assert grows_no_faster_than_n_log_n(found[1:]), found


def test_twice_as_many_ways_into_a_block_take_twice_as_long_to_analyse() -> None:
    found: list[int] = []
    for count in (50, 50, 100, 200):
        ways = (
            f"^b{i}:\n%x{i} = arith.addi %x, %x : i32\ncf.cond_br %c, ^b{i + 1}, ^end(%x{i} : i32)\n"
            for i in range(count)
        )
        body = f"cf.br ^b0\n{''.join(ways)}^b{count}:\ncf.br ^end(%x : i32)\n^end(%r: i32):\ntt.return %r : i32"
        module = parse_module(f"module {{ tt.func @f(%x: i32, %c: i1) -> i32 {{\n{body} }} }}")
        found.append(calls_in(partial(Sccp().apply, make_context(), module)))
    assert grows_no_faster_than_n_log_n(found[1:]), found


@dataclass
class Scratch:
    """What an op needs of shared memory while it runs."""

    owner: Operation
    live: tuple[int, int]
    size: int = 4096
    alignment: int = 128
    offset: int = 0


@pytest.mark.parametrize("length", [1, 3])
def test_twice_as_many_buffers_take_twice_as_long_to_place(length: int) -> None:
    found: list[int] = []
    owner = tt.ReturnOp()
    for count in (100, 100, 200, 400):
        buffers = [Scratch(owner, (2 * i, 2 * i + length)) for i in range(count)]
        found.append(calls_in(partial(assign_offsets, buffers)))
    assert grows_no_faster_than_n_log_n(found[1:]), found


@pytest.mark.parametrize("family", ["tile of n", "masked tile of n"])
@pytest.mark.usefixtures("every_compile")
def test_a_tile_of_four_times_the_size_takes_at_most_four_times_the_work(family: str, tmp_path: Path) -> None:
    found = works(family, (1024, 4096, 16384), tmp_path)
    assert found[2] - found[1] < 4.6 * (found[1] - found[0]) + 2000, f"{family}: {found} calls"
