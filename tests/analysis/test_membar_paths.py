"""On no path through loops and branches do two accesses race: random programs, all their paths checked."""

import re
from collections.abc import Iterator
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st
from shared_memory_ir import function, kernel
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.analysis.shared_memory.membar import insert_barriers

STATEMENTS = [
    f"{line.format(name)}"
    for name in "ab"
    for line in ("ttg.local_store %t, %{} : !tile -> !buf\n", "ttg.local_load %{} : !buf -> !tile\n")
]

Trace = tuple[Operation, ...]


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Sequences, branches and loops of smaller programs."""
    body = st.lists(inner, max_size=3).map("".join)
    return st.one_of(
        body,
        st.tuples(body, body).map(lambda p: f"scf.if %c {{\n{p[0]}}} else {{\n{p[1]}}}\n"),
        body.map(lambda text: f"scf.for %INDEX = %n to %n step %n : i32 {{\n{text}}}\n"),
    )


programs = st.recursive(st.sampled_from(STATEMENTS), nested, max_leaves=6)


def traces(block: Block) -> list[Trace]:
    """The ops of every path through `block`; a loop runs not at all, once or twice."""
    found: list[Trace] = [()]
    for op in block.ops:
        if op.name == "scf.if":
            ways = [way for region in op.regions for way in traces(region.block)]
        elif op.name == "scf.for":
            once = traces(op.regions[0].block)
            ways = [(), *once, *(first + second for first in once for second in once)]
        else:
            ways = [(op,)]
        found = [path + way for path in found for way in ways]
    return found


def accesses(trace: Trace) -> Iterator[tuple[str, SSAValue | None]]:
    for op in trace:
        if op.name == "ttg.local_barrier":
            yield "barrier", None
        elif op.name == "ttg.local_store":
            yield "write", op.operands[1]
        elif op.name == "ttg.local_load":
            yield "read", op.operands[0]


def races(trace: Trace) -> bool:
    """Whether two accesses to a buffer, one of them a write, have no barrier between them."""
    pending: set[tuple[str, SSAValue | None]] = set()
    for kind, buffer in accesses(trace):
        if kind == "barrier":
            pending.clear()
            continue
        if any(other is buffer and "write" in (kind, before) for before, other in pending):
            return True
        pending.add((kind, buffer))
    return False


@settings(max_examples=60, deadline=None)
@given(programs)
def test_no_path_has_a_race(program: str) -> None:
    allocs = "%a = ttg.local_alloc : () -> !buf\n%b = ttg.local_alloc : () -> !buf\n"
    keep = "ttg.local_barrier\n%ka = ttg.local_load %a : !buf -> !tile\n%kb = ttg.local_load %b : !buf -> !tile\n"
    numbers = count()
    program = re.sub("INDEX", lambda _: f"i{next(numbers)}", program)
    module = kernel(allocs + program + keep, "%t: !tile, %c: i1, %n: i32")
    allocation = allocate(module, lambda _: 0)
    insert_barriers(module, allocation)
    assert not any(races(trace) for trace in traces(function(module).regions[0].block))
