"""Barriers where accesses to shared memory would race, and nowhere else."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from shared_memory_ir import kernel, module_of
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes

BUFFER = "%{0} = ttg.local_alloc : () -> !buf\n"
STORE = "ttg.local_store %t, %{0} : !tile -> !buf\n"
LOAD = "ttg.local_load %{0} : !buf -> !tile\n"


def steps(module: ModuleOp) -> list[str]:
    """The accesses and barriers of the module with its barriers, in the order of the text, by short names."""
    insert_barriers(module, allocate(module, triton_scratch_bytes))
    short = {
        "ttg.local_barrier": "barrier",
        "ttg.local_store": "store",
        "ttg.local_load": "load",
        "ttg.local_alloc": "alloc",
        "ttg.convert_layout": "convert",
        "ttg.async_wait": "wait",
        "tt.call": "call",
        "ttng.init_barrier": "init",
        "ttng.wait_barrier": "wait",
        "ttng.arrive_barrier": "arrive",
        "ttng.inval_barrier": "inval",
        "scf.for": "for",
        "scf.if": "if",
        "scf.yield": "yield",
    }
    return [short[op.name] for op in module.walk() if op.name in short]


def program(*lines: str) -> list[str]:
    return steps(kernel("".join(lines), "%t: !tile, %c: i1, %n: i32"))


def test_a_read_waits_for_the_write() -> None:
    assert program(BUFFER.format("a"), STORE.format("a"), LOAD.format("a")) == ["alloc", "store", "barrier", "load"]


def test_a_write_waits_for_the_read() -> None:
    lines = (BUFFER.format("a"), LOAD.format("a"), STORE.format("a"))
    assert program(*lines) == ["alloc", "load", "barrier", "store"]


def test_reads_do_not_wait_for_reads() -> None:
    lines = (BUFFER.format("a"), STORE.format("a"), LOAD.format("a"), LOAD.format("a"))
    assert program(*lines) == ["alloc", "store", "barrier", "load", "load"]


def test_accesses_to_other_buffers_do_not_wait() -> None:
    lines = (
        BUFFER.format("a"),
        BUFFER.format("b"),
        STORE.format("a"),
        LOAD.format("b"),
        STORE.format("a"),
    )
    assert program(*lines)[:4] == ["alloc", "alloc", "store", "load"]


def test_a_buffer_in_the_place_of_a_dead_one_waits_for_its_readers() -> None:
    lines = (BUFFER.format("a"), LOAD.format("a"), BUFFER.format("b"), STORE.format("b"))
    assert program(*lines) == ["alloc", "load", "alloc", "barrier", "store"]


def test_filling_a_buffer_at_its_allocation_is_a_write() -> None:
    fill = "%a = ttg.local_alloc %t : (!tile) -> !ttg.memdesc<16x32xf16, #shared, #smem>\n"
    load = "%x = ttg.local_load %a : !ttg.memdesc<16x32xf16, #shared, #smem> -> !tile\n"
    assert program(fill, load) == ["alloc", "barrier", "load"]


def test_one_barrier_serves_all_that_came_before_it() -> None:
    lines = (
        BUFFER.format("a"),
        BUFFER.format("b"),
        STORE.format("a"),
        STORE.format("b"),
        LOAD.format("a"),
        LOAD.format("b"),
    )
    assert program(*lines) == ["alloc", "alloc", "store", "store", "barrier", "load", "load"]


def test_a_barrier_that_is_there_is_used() -> None:
    lines = (BUFFER.format("a"), STORE.format("a"), "ttg.local_barrier\n", LOAD.format("a"))
    assert program(*lines) == ["alloc", "store", "barrier", "load"]


def test_a_loop_waits_for_its_own_last_round() -> None:
    lines = (BUFFER.format("a"), "scf.for %i = %n to %n step %n : i32 {", LOAD.format("a"), STORE.format("a"), "}")
    assert program(*lines) == ["alloc", "for", "barrier", "load", "barrier", "store", "yield"]


def test_what_only_one_branch_did_must_be_waited_for_behind_both() -> None:
    lines = (BUFFER.format("a"), "scf.if %c {", STORE.format("a"), "}", LOAD.format("a"))
    assert program(*lines) == ["alloc", "if", "store", "yield", "barrier", "load"]


def test_a_branch_of_blocks_is_followed_too() -> None:
    lines = (
        BUFFER.format("a"),
        STORE.format("a"),
        "cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n ttg.local_barrier cf.br ^bb2\n^bb2:\n",
        LOAD.format("a"),
    )
    assert program(*lines) == ["alloc", "store", "barrier", "barrier", "load"]


def test_a_conversion_through_shared_memory_waits_for_who_used_its_place() -> None:
    convert = "%x = ttg.convert_layout %t : !tile -> tensor<16x32xf16, #columns>\n"
    assert program(convert, convert.replace("%x", "%y")) == ["convert", "barrier", "convert"]


def test_waiting_for_copies_is_followed_by_a_barrier() -> None:
    assert program(BUFFER.format("a"), "ttg.async_wait {num = 0 : i32}\n", LOAD.format("a")) == [
        "alloc",
        "wait",
        "barrier",
        "load",
    ]


def test_a_wait_before_a_barrier_needs_no_other() -> None:
    assert program("ttg.async_wait {num = 0 : i32}\n", "ttg.local_barrier\n") == ["wait", "barrier"]


BARRIER = "%b = ttg.local_alloc : () -> !bar\n"


def test_barriers_of_one_array_may_be_initialised_together() -> None:
    init = "ttng.init_barrier %b, 1 : !bar\n"
    assert program(BARRIER, init, init) == ["alloc", "init", "init"]


def test_an_initialised_barrier_is_waited_for_by_all_threads() -> None:
    lines = (BARRIER, "ttng.init_barrier %b, 1 : !bar\n", "ttng.wait_barrier %b, %n : !bar\n")
    assert program(*lines) == ["alloc", "init", "barrier", "wait"]


def test_two_waits_are_kept_apart() -> None:
    wait = "ttng.wait_barrier %b, %n : !bar\n"
    assert program(BARRIER, wait, wait) == ["alloc", "wait", "barrier", "wait"]


def test_an_arrival_tells_others_only_what_is_done() -> None:
    lines = (BARRIER, BUFFER.format("a"), STORE.format("a"), "ttng.arrive_barrier %b, 1 : !bar\n")
    assert program(*lines) == ["alloc", "alloc", "store", "barrier", "arrive"]


def call(body: str) -> list[str]:
    return steps(
        module_of(
            f"""
            tt.func @callee(%t: !tile) {{
              {BUFFER.format("a")} {body}
              tt.return
            }}
            tt.func @f(%t: !tile) {{
              {BUFFER.format("b")} {STORE.format("b")}
              tt.call @callee(%t) : (!tile) -> ()
              {LOAD.format("b")}
              tt.call @callee(%t) : (!tile) -> ()
              tt.return
            }}
            """
        )
    )


def test_a_call_waits_only_for_accesses_in_the_place_of_its_callee() -> None:
    """The first call lies beside the live buffer, the second where the dead one was."""
    callee, caller = ["alloc", "store"], ["alloc", "store", "call", "barrier", "load", "barrier", "call"]
    assert call(STORE.format("a")) == callee + caller


def test_a_barrier_inside_a_callee_comes_too_late_for_what_it_does_before() -> None:
    callee, caller = ["alloc", "store", "barrier"], ["alloc", "store", "call", "barrier", "load", "barrier", "call"]
    assert call(STORE.format("a") + "ttg.local_barrier\n") == callee + caller


access = st.sampled_from([STORE.format("a"), LOAD.format("a"), STORE.format("b"), LOAD.format("b")])


@given(st.lists(access, max_size=8))
def test_a_straight_line_has_exactly_the_barriers_that_its_conflicts_need(lines: list[str]) -> None:
    keep = "%ka = " + LOAD.format("a") + "%kb = " + LOAD.format("b")
    found = program(BUFFER.format("a"), BUFFER.format("b"), *lines, keep)[2:]
    accesses = [(line.split()[0].split("_")[1], "a" if "%a" in line else "b") for line in lines]
    accesses += [("load", "a"), ("load", "b")]
    expected: list[str] = []
    pending: list[tuple[str, str]] = []
    for kind, buffer in accesses:
        if any(buffer == other and "store" in (kind, before) for before, other in pending):
            expected.append("barrier")
            pending.clear()
        expected.append(kind)
        pending.append((kind, buffer))
    assert found == expected


def test_inserting_twice_adds_nothing() -> None:
    module = kernel(BUFFER.format("a") + STORE.format("a") + LOAD.format("a"), "%t: !tile")
    once = steps(module)
    assert steps(module) == once
    assert not any(first == second == "barrier" for first, second in pairwise(once))
