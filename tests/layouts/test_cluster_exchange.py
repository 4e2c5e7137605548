"""Every conversion between layouts of a cluster, executed literally, gives every register of every CTA the right element."""

import layout_machine as machine
import layout_strategies as strategies
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.layouts import f2
from minitriton.layouts.cluster_exchange import ClusterAccess, ClusterExchange, crosses_ctas, plan_between_ctas
from minitriton.layouts.conversion import plan_conversion
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Linear
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.plans import NoConversion, RegisterPermutation, WarpShuffle
from minitriton.layouts.to_linear import to_linear_encoding, to_linear_layout


def held_by(layout: LinearLayout) -> np.ndarray:
    """The number of the element that each `[rank, warp, lane, register]` holds."""
    of_cta = machine.held_by(layout)
    return np.stack([of_cta ^ first for first in f2.span(layout.flat_bases("block"))])


def places(plan: ClusterAccess, number: int, rank: int, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """The rank and the elements of its buffer that each `[warp, lane, k]` of an access meets; checks that it is aligned."""
    threads = [(lane, warp) for warp in range(warps) for lane in range(32)]
    addresses = np.array([plan.address(number, lane, warp, rank) for lane, warp in threads])
    assert (addresses % plan.access.vector_bytes == 0).all()
    ranks = np.array([plan.rank(number, lane, warp, rank) for lane, warp in threads])
    first = addresses // (plan.access.bitwidth // 8)
    shape = (warps, 32, -1)
    return ranks.reshape(shape), (first[:, None] + np.arange(plan.access.vector)).reshape(shape)


def exchange(plan: ClusterExchange, values: np.ndarray) -> np.ndarray:
    ctas, warps = values.shape[:2]
    memory = np.full((ctas, plan.scratch_bytes * 8 // plan.bitwidth), -1)
    results = []
    for cta in range(ctas):
        for number, access in enumerate(plan.stores.access.accesses):
            ranks, offsets = places(plan.stores, number, cta, warps)
            assert (ranks == cta).all()
            memory[ranks, offsets] = values[cta][:, :, list(access.registers)]
    for cta in range(ctas):
        found = [places(plan.loads, number, cta, warps) for number in range(len(plan.loads.access.accesses))]
        assert plan.crosses or all((ranks == cta).all() for ranks, _ in found)
        loaded = np.concatenate([memory[ranks, offsets] for ranks, offsets in found], -1)
        results.append(loaded[:, :, list(plan.loads.access.result)])
    return np.stack(results)


def converted(src: DistributedEncoding, dst: DistributedEncoding, shape: tuple[int, ...], bitwidth: int) -> np.ndarray:
    held = held_by(to_linear_layout(src, shape))
    if crosses_ctas(src, dst, shape):
        plan = plan_between_ctas(src, dst, shape, bitwidth)
    else:
        plan = plan_conversion(src, dst, shape, bitwidth)
    if isinstance(plan, ClusterExchange):
        return exchange(plan, held)
    return np.stack([machine.convert(plan, of_cta) for of_cta in held])


def of_ctas(layout: DistributedEncoding, shape: tuple[int, ...], ctas: int) -> Linear:
    """`layout` in a cluster of so many CTAs: those that it does not know hold copies."""
    linear = to_linear_encoding(layout, shape)
    copies = ((0,) * len(shape),) * (f2.log2(ctas) - len(linear.block))
    return Linear(linear.register, linear.lane, linear.warp, (*linear.block, *copies), linear.shape)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_every_register_of_every_cta_gets_its_element(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    warps = data.draw(strategies.power(0, 2))
    both = [data.draw(strategies.distributed(rank, warps, shape, cga=True)) for _ in range(2)]
    ctas = max(2, *(layout.num_ctas for layout in both))
    src, dst = (of_ctas(layout, shape, ctas) for layout in both)
    bitwidth = data.draw(st.sampled_from([1, *strategies.BITWIDTHS]))
    wanted = held_by(to_linear_layout(dst, shape))
    np.testing.assert_array_equal(converted(src, dst, shape, bitwidth), wanted)


def blocked(cga: tuple[tuple[int, ...], ...]) -> Blocked:
    return Blocked((1, 4), (4, 8), (4, 1), (1, 0), cga)


ROWS, COLUMNS, COPIES = blocked(((1, 0),)), blocked(((0, 1),)), blocked(((0, 0),))


def test_rows_to_columns_go_through_half_the_tensor_in_every_cta_in_vectors() -> None:
    plan = plan_between_ctas(ROWS, COLUMNS, (64, 64), 32)
    assert isinstance(plan, ClusterExchange)
    assert plan.crosses
    assert plan.scratch_bytes == 64 * 64 * 4 // 2
    assert plan.stores.access.vector == plan.loads.access.vector == 4


def test_copies_are_read_from_the_own_cta() -> None:
    plan = plan_between_ctas(COPIES, ROWS, (64, 64), 32)
    assert isinstance(plan, ClusterExchange)
    assert not plan.crosses


def test_ctas_that_all_need_what_all_hold_are_planned_as_one() -> None:
    other = Blocked((4, 1), (8, 4), (1, 4), (0, 1), ((0, 0),))
    assert not crosses_ctas(COPIES, other, (64, 64))


def test_the_same_layout_crosses_nothing() -> None:
    assert not crosses_ctas(ROWS, ROWS, (64, 64))
    assert not crosses_ctas(Blocked((1, 4), (4, 8), (4, 1), (1, 0)), ROWS, (64, 64))


@pytest.mark.parametrize("kind", [NoConversion, RegisterPermutation, WarpShuffle])
def test_copies_need_no_memory_where_threads_have_what_they_need(kind: type) -> None:
    lanes = tuple((1 << i,) for i in range(5))
    src = Linear(((32,), (64,)), lanes, (), ((0,),), (128,))
    dst = {
        NoConversion: src,
        RegisterPermutation: Linear(((64,), (32,)), lanes, (), ((0,),), (128,)),
        WarpShuffle: Linear(((1,), (64,)), ((32,), *lanes[1:]), (), ((0,),), (128,)),
    }[kind]
    assert isinstance(plan_between_ctas(src, dst, (128,), 32), kind)
