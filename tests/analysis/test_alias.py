"""Which buffers a descriptor may belong to."""

import pytest
from shared_memory_ir import kernel, named
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.liveness import shared_memory_aliases


def buffers(module: ModuleOp, name: str) -> set[str | None]:
    """The names of the buffers that `%name` may be a view of."""
    aliases = shared_memory_aliases(module)
    return {buffer.name_hint for buffer in aliases.get(named(module, name), ())}


def test_a_buffer_is_its_own() -> None:
    assert buffers(kernel("%a = ttg.local_alloc : () -> !buf"), "a") == {"a"}


def test_views_belong_to_the_buffer_they_were_taken_from() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !bufs
        %one = ttg.memdesc_index %a[%i] : !bufs -> !buf
        %part = ttg.memdesc_subslice %one[0, 0] : !buf -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable, 16x32>
        %t = ttg.memdesc_trans %part {order = array<i32: 1, 0>} : !ttg.memdesc<16x16xf16, #shared, #smem, mutable, 16x32>
             -> !ttg.memdesc<16x16xf16, #sharedT, #smem, mutable, 32x16>
        """.replace("#sharedT, #smem, mutable, 32x16", "#sharedT, #smem, mutable, 32x16"),
        "%i: i32",
    )
    assert [buffers(module, name) for name in ("one", "part", "t")] == [{"a"}] * 3


def test_an_argument_belongs_to_no_known_buffer() -> None:
    assert buffers(kernel("", "%a: !buf"), "a") == set()


def test_a_branch_may_give_either_buffer() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !buf
        %b = ttg.local_alloc : () -> !buf
        %r = scf.if %c -> !buf { scf.yield %a : !buf } else { scf.yield %b : !buf }
        """,
        "%c: i1",
    )
    assert buffers(module, "r") == {"a", "b"}


LOOP = """
%a = ttg.local_alloc : () -> !buf
%b = ttg.local_alloc : () -> !buf
%r:2 = scf.for %i = %n to %n step %n iter_args(%x = %a, %y = %b) -> (!buf, !buf) : i32 {
  scf.yield %y, %x : !buf, !buf
}
"""


@pytest.mark.parametrize("name", ["x", "y", "r"])
def test_a_loop_that_swaps_buffers_mixes_them(name: str) -> None:
    assert buffers(kernel(LOOP, "%n: i32"), name) == {"a", "b"}


def test_a_loop_that_keeps_its_buffers_does_not_mix_them() -> None:
    module = kernel(LOOP.replace("scf.yield %y, %x", "scf.yield %x, %y"), "%n: i32")
    assert (buffers(module, "x"), buffers(module, "y")) == ({"a"}, {"b"})


def test_a_while_loop_hands_buffers_from_its_condition_to_its_body_and_back() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !buf
        %b = ttg.local_alloc : () -> !buf
        %r = scf.while (%x = %a) : (!buf) -> !buf {
          scf.condition(%c) %x : !buf
        } do {
        ^bb0(%y: !buf):
          scf.yield %b : !buf
        }
        """,
        "%c: i1",
    )
    assert [buffers(module, name) for name in ("x", "y", "r")] == [{"a", "b"}] * 3


def test_blocks_collect_the_buffers_of_all_their_branches() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !buf
        %b = ttg.local_alloc : () -> !buf
        cf.cond_br %c, ^bb1(%a : !buf), ^bb1(%b : !buf)
      ^bb1(%x: !buf):
        """,
        "%c: i1",
    )
    assert buffers(module, "x") == {"a", "b"}


def test_a_partition_sees_the_buffers_it_captures() -> None:
    module = kernel(
        """
        %a = ttg.local_alloc : () -> !buf
        ttg.warp_specialize(%a)
        default { ttg.warp_yield }
        partition0(%x: !buf) num_warps(2) { ttg.warp_return } : (!buf) -> ()
        """
    )
    assert buffers(module, "x") == {"a"}
