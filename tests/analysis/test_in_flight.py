"""What is in flight in a loop: which wait covers a dot, what it reads, and where in a ring of buffers an iteration is."""

from __future__ import annotations

from itertools import chain

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.in_flight.outstanding import InFlight, Outstanding, Queue, buffers_read, dot_of, groups_since
from minitriton.analysis.in_flight.rings import iterations_ago, ring_length, ring_position, ring_slot
from minitriton.dialects import ttg, ttng
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.synchronization import Kind
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.text import parse_module
from minitriton.lab import corpus
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions

LENGTH = 3


def loop(start: int, before: int, zero: int = 0, step: int = 1) -> scf.ForOp:
    """A loop with a counter from `start`, and an argument that begins as `before` and then has what it counted."""
    module = parse_module(f"""
      module {{
        tt.func @f(%n: i32) {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %zero = arith.constant {zero} : i32
          %step = arith.constant {step} : i32
          %start = arith.constant {start} : i32
          %before = arith.constant {before} : i32
          %length = arith.constant {LENGTH} : i32
          %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%count = %start, %last = %before) -> (i32, i32) : i32 {{
            %next = arith.addi %count, %step : i32
            %over = arith.cmpi sge, %next, %length : i32
            %new = arith.select %over, %zero, %next : i32
            scf.yield %new, %new : i32, i32
          }}
          tt.return
        }}
      }}""")
    return next(op for op in ops_in(module) if isinstance(op, scf.ForOp))


@pytest.mark.parametrize("start", [-1, 0, 1, 2])
def test_counters_and_what_they_counted_before(start: int) -> None:
    found = loop(start, start)
    block = found.body.block
    new = block.last_op.operands[0]  # pyright: ignore[reportOptionalMemberAccess]
    assert ring_position(block.args[1], LENGTH, found) == start % LENGTH
    assert ring_position(new, LENGTH, found) == (start + 1) % LENGTH
    assert ring_position(block.args[2], LENGTH, found) == start % LENGTH


def test_what_begins_elsewhere_has_no_place() -> None:
    found = loop(0, 1)
    assert ring_position(found.body.block.args[2], LENGTH, found) is None


@pytest.mark.parametrize(("zero", "step", "length"), [(1, 1, LENGTH), (0, 2, LENGTH), (0, 1, 4)])
def test_other_counters_have_no_place(zero: int, step: int, length: int) -> None:
    found = loop(0, 0, zero, step)
    assert ring_position(found.body.block.args[1], length, found) is None


def test_the_number_of_the_iteration_and_values_from_outside_have_no_place() -> None:
    found = loop(0, 0)
    assert ring_position(found.body.block.args[0], LENGTH, found) is None
    assert ring_position(found.lb, LENGTH, found) is None


def dots_of_two_rings() -> scf.ForOp:
    """A loop that fills slot i + 2 of a ring of 3 while dots read slot i of it and another ring, one dot left in flight."""
    buffer = "!ttg.memdesc<64x64xf16, #sh, #smem, mutable>"
    ring = f"!ttg.memdesc<{LENGTH}x64x64xf16, #sh, #smem, mutable>"
    module = parse_module(f"""
      #sh = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}}>
      #smem = #ttg.shared_memory
      #mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}}>
      module attributes {{"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
        tt.func @f(%n: i32, %zero: tensor<64x64xf32, #mma>) {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c2 = arith.constant 2 : i32
          %length = arith.constant {LENGTH} : i32
          %x = ttg.local_alloc : () -> {ring}
          %y = ttg.local_alloc : () -> {ring}
          %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%read = %c0, %fill = %c2, %c = %zero) -> (i32, i32, tensor<64x64xf32, #mma>) : i32 {{
            %a = ttg.memdesc_index %x[%read] : {ring} -> {buffer}
            %b = ttg.memdesc_index %y[%read] : {ring} -> {buffer}
            %next = ttg.memdesc_index %x[%fill] : {ring} -> {buffer}
            %d = ttng.warp_group_dot %a, %b, %c {{isAsync = true}} : {buffer} * {buffer} -> tensor<64x64xf32, #mma>
            %w = ttng.warp_group_dot_wait %d {{pendings = 1 : i32}} : tensor<64x64xf32, #mma>
            %1 = arith.addi %read, %c1 : i32
            %2 = arith.cmpi sge, %1, %length : i32
            %3 = arith.select %2, %c0, %1 : i32
            %4 = arith.addi %fill, %c1 : i32
            %5 = arith.cmpi sge, %4, %length : i32
            %6 = arith.select %5, %c0, %4 : i32
            scf.yield %3, %6, %w : i32, i32, tensor<64x64xf32, #mma>
          }}
          tt.return
        }}
      }}""")
    return next(op for op in ops_in(module) if isinstance(op, scf.ForOp))


def test_a_wait_covers_a_dot_once_no_more_dots_stay_in_flight_than_began_after_it() -> None:
    found = dots_of_two_rings()
    function = found.parent_op()
    assert function is not None
    in_flight = InFlight(function)
    (dot,), (wait,) = ops_of(found, ttng.WarpGroupDotOp), ops_of(found, ttng.WarpGroupDotWaitOp)
    assert in_flight.ended_by(wait) == [(dot, 1)]
    assert in_flight.end_of(dot) is None
    assert dot_of(wait.results[0]) is dot
    assert dot_of(found.body.block.args[3]) is None
    assert [in_flight.before[wait].accumulates(each) for each in found.body.block.args] == [False, False, False, True]
    assert in_flight.after[found].accumulates(found.results[2])
    wait.properties["pendings"] = i32_attr(0)
    assert InFlight(function).end_of(dot) is wait
    assert not InFlight(function).after[found].accumulates(found.results[2])


def test_a_slot_is_read_until_the_dot_of_the_iteration_before_has_ended() -> None:
    found = dots_of_two_rings()
    function = found.parent_op()
    assert function is not None
    in_flight = InFlight(function)
    filled = ops_of(found, ttg.MemDescIndexOp)[2].results[0]
    ops = list(found.body.block.ops)
    (wait,) = ops_of(found, ttng.WarpGroupDotWaitOp)
    read = [in_flight.before[op].reads(filled, op) for op in ops]
    assert read == [op.is_before_in_block(wait) or op is wait for op in ops]


def test_a_slot_that_is_filled_was_read_one_iteration_before() -> None:
    found = dots_of_two_rings()
    (dot,) = ops_of(found, ttng.WarpGroupDotOp)
    of_x, of_y = buffers_read(dot)
    filled = ops_of(found, ttg.MemDescIndexOp)[2].results[0]
    assert iterations_ago(filled, of_x, found) == 1
    assert iterations_ago(filled, of_y, found) == 0
    assert iterations_ago(of_x, of_x, found) is None
    assert iterations_ago(filled, of_x, None) is None
    assert ring_slot(filled)[1] is found.body.block.args[2]


def first_and_loop(pendings: int) -> scf.ForOp:
    """A dot before a loop, and a loop of two dots, of which a wait leaves `pendings` in flight."""
    buffer, result = "!ttg.memdesc<64x64xf16, #sh, #smem>", "tensor<64x64xf32, #mma>"
    dot = f"ttng.warp_group_dot %b, %b, %zero {{isAsync = true}} : {buffer} * {buffer} -> {result}"
    module = parse_module(f"""
      #sh = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}}>
      #smem = #ttg.shared_memory
      #mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}}>
      module attributes {{"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
        tt.func @f(%n: i32, %b: {buffer}, %zero: {result}) {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %first = {dot}
          scf.for %i = %c0 to %n step %c1 : i32 {{
            %d = {dot}
            %e = {dot}
            %w = ttng.warp_group_dot_wait %d {{pendings = {pendings} : i32}} : {result}
          }}
          %last = ttng.warp_group_dot %b, %b, %zero : {buffer} * {buffer} -> {result}
          tt.return
        }}
      }}""")
    return next(op for op in ops_in(module) if isinstance(op, scf.ForOp))


@pytest.mark.parametrize(
    ("pendings", "in_body", "after_wait"),
    [(0, [{"first"}], []), (1, [{"first", "e"}], [{"e"}]), (2, [{"first", "e"}, {"d"}], [{"e"}, {"d"}])],
)
def test_what_is_in_flight_where_an_iteration_begins_and_ends(
    pendings: int, in_body: list[set[str]], after_wait: list[set[str]]
) -> None:
    found = first_and_loop(pendings)
    function = found.parent_op()
    assert function is not None
    in_flight = InFlight(function)
    first, d, e, last = ops_of(function, ttng.WarpGroupDotOp)
    (wait,) = ops_of(found, ttng.WarpGroupDotWaitOp)
    names: dict[Operation, str] = {first: "first", d: "d", e: "e"}

    def groups(at: Outstanding) -> list[set[str]]:
        return [{names[op] for op in group} for group in at.queues.get(Queue(Kind.DOT), ())]

    assert groups(in_flight.before[d]) == in_body
    assert groups(in_flight.after[e]) == [{"e"}, {"d"}, *in_body]
    assert groups(in_flight.after[wait]) == after_wait
    assert groups(in_flight.after[last]) == []
    assert set(buffers_read(d)) == {d.a, d.b}


def ttgir(name: str, stages: int = 3, warps: int | None = None) -> ModuleOp:
    """The last TTGIR of a kernel of the corpus: what is lowered."""
    task = corpus.task(name)
    given = {**corpus.find(name).launch_options, "num_stages": stages}
    options = CUDAOptions.for_target(task.target, **(given if warps is None else {**given, "num_warps": warps}))
    steps = pipeline_for(task.target, options).steps
    end = next(index for index, step in enumerate(steps) if step.name == "convert-triton-gpu-to-llvm")
    module = task.source.make_ir(task.target, options, task.context)
    assert isinstance(module, ModuleOp)
    return PassManager(Pipeline(steps[:end])).run(task.context, module)


def reads_of_what_is_written(copy: ttng.AsyncTMACopyGlobalToLocalOp, before: Outstanding) -> list[ttng.WarpGroupDotOp]:
    """The dots in flight that read the slot which `copy` writes, of those whose slot is known."""
    found: list[ttng.WarpGroupDotOp] = []
    loop = copy.parent_op()
    ring, index = ring_slot(copy.destination)
    length = ring_length(ring)
    if index is None or length is None or not isinstance(loop, scf.ForOp):
        return found
    written = ring_position(index, length, loop)
    for dot, ago in chain.from_iterable(before.iterations(Queue(Kind.DOT), copy)):
        assert isinstance(dot, ttng.WarpGroupDotOp)
        for buffer in buffers_read(dot) if dot.parent is copy.parent else ():
            other, slot = ring_slot(buffer)
            if other is ring and slot is not None:
                read = ring_position(slot, length, loop)
                assert read is not None and written is not None
                if (read - ago - written) % length == 0:
                    found.append(dot)
    return found


@pytest.mark.parametrize(
    "name", ["copied_matmul", "attention_of_two_groups", "copied_attention", "widened_matmul", "tf32_matmul"]
)
@pytest.mark.parametrize(("stages", "warps"), [(2, 4), (3, 4), (3, 8), (4, 8)])
def test_no_copy_writes_what_a_dot_in_flight_reads(name: str, stages: int, warps: int) -> None:
    module = ttgir(name, stages, warps)
    in_flight = InFlight(module)
    for copy in ops_of(module, ttng.AsyncTMACopyGlobalToLocalOp):
        assert not reads_of_what_is_written(copy, in_flight.before[copy])


def test_a_copy_to_a_slot_that_a_dot_reads_is_found() -> None:
    """Were the wait in the loop to leave one dot more, that of the iteration before would still read."""
    module = ttgir("copied_matmul")
    for wait in ops_of(module, ttng.WarpGroupDotWaitOp):
        wait.properties["pendings"] = i32_attr(wait.pendings.value.data + 1)
    in_flight = InFlight(module)
    copies = ops_of(module, ttng.AsyncTMACopyGlobalToLocalOp)
    assert any(reads_of_what_is_written(copy, in_flight.before[copy]) for copy in copies)


@pytest.mark.parametrize("name", ["copied_matmul", "attention_of_two_groups", "widened_matmul", "copied_attention"])
def test_a_wait_that_covers_a_dot_is_one_after_which_it_is_not_in_flight(name: str) -> None:
    module = ttgir(name)
    in_flight = InFlight(module)
    for dot in ops_of(module, ttng.WarpGroupDotOp):
        assert dot.parent is not None
        following = list(dot.parent.ops)[list(dot.parent.ops).index(dot) + 1 :]
        wait = in_flight.end_of(dot) if dot.is_async.value.data else None
        for op in following if wait in following else ():
            assert (dot in in_flight.after[op].ops(Kind.DOT)) == (op is not wait)
            if op is wait:
                assert dot in [ended for ended, _ in in_flight.ended_by(op)]
                break


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_copies_are_in_flight_as_far_ahead_as_there_are_stages(stages: int) -> None:
    module = ttgir("copied_matmul", stages)
    in_flight = InFlight(module)
    copies = ops_of(module, ttng.AsyncTMACopyGlobalToLocalOp)
    assert max(in_flight.after[copy].number(Kind.TENSOR_COPY) for copy in copies) == stages - 1


@pytest.mark.parametrize(("inside", "left"), [(0, 0), (1, 1), (2, 2)])
def test_a_wait_in_a_branch_leaves_what_began_on_the_way_to_it(inside: int, left: int) -> None:
    """The loop is in a branch: what it commits before the loop is on the way, what comes after the branch is not."""
    commit = "%{} = ttg.async_commit_group"
    before = "\n".join(commit.format(f"inside{i}") for i in range(inside))
    carried = f"%inside{inside - 1}" if inside else "%first"
    text = f"""
      module attributes {{"ttg.num-warps" = 4 : i32}} {{
        tt.func @f(%n: i32, %here: i1) {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %first = ttg.async_commit_group
          scf.if %here {{
            {before}
            %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first, %b = {carried}) -> (!ttg.async.token, !ttg.async.token) : i32 {{
              %w = ttg.async_wait %a {{num = 0 : i32}}
              %x = ttg.async_commit_group
              %y = ttg.async_commit_group
              scf.yield %b, %x : !ttg.async.token, !ttg.async.token
            }}
          }}
          %later = ttg.async_commit_group
          %last = ttg.async_commit_group
          tt.return
        }}
      }}"""
    (wait,) = ops_of(parse_module(text), ttg.AsyncWaitOp)
    assert groups_since(wait) == left


@pytest.mark.parametrize(
    ("inside", "carried", "left"), [("", "%a, %b", 1), ("", "%b, %a", 0), ("%x = ttg.async_commit_group", "%a, %b", 1)]
)
def test_a_token_that_a_loop_carries_on_as_it_is(inside: str, carried: str, left: int) -> None:
    """The way back around the loop brings nothing new, and with no commit on it is never longer."""
    text = f"""
      module attributes {{"ttg.num-warps" = 4 : i32}} {{
        tt.func @f(%n: i32) {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %first = ttg.async_commit_group
          %second = ttg.async_commit_group
          %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first, %b = %second) -> (!ttg.async.token, !ttg.async.token) : i32 {{
            %w = ttg.async_wait %a {{num = 0 : i32}}
            {inside}
            scf.yield {carried} : !ttg.async.token, !ttg.async.token
          }}
          tt.return
        }}
      }}"""
    (wait,) = ops_of(parse_module(text), ttg.AsyncWaitOp)
    assert groups_since(wait) == left
