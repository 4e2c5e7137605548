"""How many loops of a kernel read global memory, told from PTX."""

from __future__ import annotations

import pytest

from minitriton.codegen.reading_loops import reading_loops

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
