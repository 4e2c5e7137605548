"""The plan of a gather within warps, followed step by step, finds every element that an index can name."""

from __future__ import annotations

import random

import pytest

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.warp_shuffle import plan_warp_gather


def random_layout(draw: random.Random, sizes: tuple[int, int], lanes: int, warps: int) -> LinearLayout:
    """Bits of the two coordinates, mixed or not, dealt out to registers, lanes and warps, with copies."""
    bits = [(1 << bit, 0) for bit in range(sizes[0])] + [(0, 1 << bit) for bit in range(sizes[1])]
    draw.shuffle(bits)
    if len(bits) > 1 and draw.random() < 0.3:
        bits[0] = (bits[0][0] ^ bits[-1][0], bits[0][1] ^ bits[-1][1])
    bases: dict[str, list[tuple[int, int]]] = {"register": [], "lane": [], "warp": [], "block": []}
    for basis in bits:
        room = [dim for dim, most in (("register", 9), ("lane", lanes), ("warp", warps)) if len(bases[dim]) < most]
        bases[draw.choice([*room, "lane"] if "lane" in room else room)].append(basis)
    bases["lane"] += [(0, 0)] * (lanes - len(bases["lane"]))
    bases["warp"] += [(0, 0)] * (warps - len(bases["warp"]))
    return LinearLayout(bases, {"dim0": 1 << sizes[0], "dim1": 1 << sizes[1]})


@pytest.mark.parametrize("axis", [0, 1])
def test_every_index_finds_its_element(axis: int) -> None:
    draw, planned = random.Random(axis), 0
    for _ in range(400):
        sizes = draw.randint(0, 4), draw.randint(0, 4)
        source = random_layout(draw, sizes, 3, 1)
        indices = source if draw.random() < 0.5 else random_layout(draw, sizes, 3, 1)
        plan = plan_warp_gather(source, indices, axis)
        if plan is None:
            continue
        planned += 1
        for warp in range(2):
            for lane in range(8):
                for register in range(len(plan.register_lanes)):
                    at = indices.apply({"register": register, "lane": lane, "warp": warp, "block": 0})
                    for index in range(1 << sizes[axis]):
                        from_lane = f2.apply(plan.thread_lanes, warp << 3 | lane) ^ plan.register_lanes[register]
                        from_lane ^= f2.apply(plan.index_lanes, index)
                        chosen = f2.apply(plan.index_registers, index)
                        assert chosen in plan.choices
                        held = {
                            "register": plan.first_registers[register] ^ chosen,
                            "lane": from_lane,
                            "warp": warp,
                            "block": 0,
                        }
                        assert source.apply(held) == {**at, f"dim{axis}": index}
    assert planned > 100


def test_a_warp_that_holds_a_part_of_the_axis_does_not_gather_alone() -> None:
    split = LinearLayout({"register": [], "lane": [(1,), (2,)], "warp": [(4,)], "block": []}, {"dim0": 8})
    copies = LinearLayout({"register": [(4,)], "lane": [(1,), (2,)], "warp": [(0,)], "block": []}, {"dim0": 8})
    assert plan_warp_gather(split, split, 0) is None
    assert plan_warp_gather(copies, split, 0) is not None
