"""How many loops of a kernel read global memory, and what an iteration needs in registers, told from PTX."""

from __future__ import annotations

import pytest

from minitriton.codegen.reading_loops import IterationNeed, iteration_need, reading_loops

LOAD, STORE, ADD = "\tld.global.b32 \t%r1, [%rd1];", "\tst.global.b32 \t[%rd1], %r1;", "\tadd.s32 \t%r1, %r1, 1;"
MASKED = "\t@%p9 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];"


def loop(name: str, *body: str) -> list[str]:
    return [f"$L_{name}:", *body, f"\t@%p1 bra \t$L_{name};"]


@pytest.mark.parametrize(
    ("lines", "loops"),
    [
        ([LOAD, ADD], 0),
        (loop("1", LOAD), 1),
        (loop("1", MASKED), 1),
        (loop("1", STORE), 0),
        ([LOAD, *loop("1", ADD), LOAD], 0),
        ([*loop("1", LOAD), *loop("2", LOAD)], 2),
        (loop("1", LOAD, *loop("2", LOAD), LOAD), 1),
        (loop("1", *loop("2", LOAD), *loop("3", LOAD)), 2),
        (loop("1", *loop("2", ADD), LOAD), 1),
        (["\t@%p1 bra \t$L_end;", LOAD, "$L_end:", LOAD], 0),
        (["\tbra.uni \t$L_2;", *loop("1", LOAD), "$L_2:", *loop("3", MASKED)], 2),
    ],
)
def test_loops_that_read(lines: list[str], loops: int) -> None:
    assert reading_loops("\n".join(lines)) == loops


def vector_load(first: int, pointer: str = "%rd1") -> str:
    return f"\t@%p9 ld.global.v4.b32 {{ %r{first}, %r{first + 1}, %r{first + 2}, %r{first + 3} }}, [ {pointer} + 0 ];"


def added(sum_: int, loaded: int) -> str:
    return f"\tadd.f32 \t%r{sum_}, %r{sum_}, %r{loaded};"


def test_an_iteration_needs_its_sums_and_what_it_loads() -> None:
    sums = [added(100 + n, n) for n in range(8)]
    body = loop("1", vector_load(0), vector_load(4), *sums, "\tadd.s64 \t%rd1, %rd1, 64;", "\tadd.s32 \t%r50, %r50, 1;")
    assert iteration_need("\n".join(body)) == IterationNeed(sums=8, loaded=8)


def test_sums_may_be_handed_on_by_moves() -> None:
    body = loop("1", vector_load(0), "\tadd.f32 \t%r60, %r100, %r0;", "\tmov.b32 \t%r100, %r60;")
    assert iteration_need("\n".join(body)) == IterationNeed(sums=1, loaded=4)


def test_what_is_loaded_is_not_taken_over_where_blocks_are_written_in_another_order() -> None:
    body = loop(
        "1",
        "\tfma.rn.f32 \t%r70, %r0, %r80, %r81;",
        "\tmov.b32 %r0, 0x0;",
        vector_load(0),
        "\tst.global.b32 \t[%rd2], %r70;",
    )
    assert iteration_need("\n".join(body)) == IterationNeed(sums=0, loaded=4)


def test_the_loop_that_needs_most_counts() -> None:
    small, large = loop("1", vector_load(0), added(100, 0)), loop("2", vector_load(0), vector_load(4))
    assert iteration_need("\n".join([*small, *large])) == IterationNeed(sums=0, loaded=8)
    assert iteration_need("\n".join([vector_load(0), added(100, 0)])) == IterationNeed(0, 0)
