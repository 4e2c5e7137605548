"""How many CTAs an SM holds, and under which limits of registers it holds more."""

from __future__ import annotations

import pytest

from minitriton.analysis.register_demand import RegisterDemand
from minitriton.codegen.assemble_ptx import candidate_limits
from minitriton.target.architectures import ARCHITECTURES

H100 = ARCHITECTURES[90]


@pytest.mark.parametrize(
    ("arch", "registers", "threads", "shared", "ctas"),
    [
        (90, 80, 256, 0, 3),
        (90, 64, 256, 0, 4),
        (90, 65, 256, 0, 3),
        (90, 32, 256, 0, 8),
        (90, 16, 256, 0, 8),
        (90, 32, 32, 0, 32),
        (90, 76, 32, 0, 25),
        (90, 255, 1024, 0, 0),
        (90, 32, 128, 49152, 4),
        (90, 32, 128, 231424, 1),
        (86, 32, 256, 0, 6),
        (86, 32, 32, 0, 16),
        (89, 32, 32, 0, 24),
        (89, 32, 128, 49152, 2),
        (75, 32, 256, 0, 4),
        (120, 40, 256, 0, 6),
    ],
)
def test_ctas_on_an_sm(arch: int, registers: int, threads: int, shared: int, ctas: int) -> None:
    assert ARCHITECTURES[arch].ctas_on_sm(registers, threads, shared) == ctas


@pytest.mark.parametrize(
    ("ctas", "threads"),
    [(b, t) for t in (32, 64, 128, 256, 512, 1024) for b in range(1, 33) if b * t <= 2048],
)
def test_registers_for_ctas_are_the_most(ctas: int, threads: int) -> None:
    most = H100.registers_for(ctas, threads)
    assert H100.ctas_on_sm(most, threads) >= ctas
    assert H100.ctas_on_sm(most + 1, threads) < ctas


@pytest.mark.parametrize(
    ("registers", "threads", "limits"),
    [
        (30, 128, []),
        (38, 256, [32]),
        (33, 128, [32]),
        (42, 128, [32]),
        (46, 512, [40]),  # 32 warps
        (48, 256, []),  # 40 warps
        (56, 256, [48]),  # 32 warps
        (56, 128, []),  # 36 warps
        (72, 128, [64]),
        (98, 128, [64, 96]),
        (127, 256, [64, 80]),
        (136, 256, [64, 128]),  # one CTA
        (80, 256, [64]),  # two-pass layer norm of 8192: Triton's ptxas gives it 64
        (71, 256, [64]),  # column sum of a 512x32 tile
        (168, 32, [64, 152]),  # a warp is a CTA
    ],
)
def test_limits_by_occupancy(registers: int, threads: int, limits: list[int]) -> None:
    assert candidate_limits(H100, RegisterDemand(), registers, 0, threads) == limits


@pytest.mark.parametrize(
    ("registers", "threads", "limits"),
    [
        (30, 128, []),
        (40, 256, [32]),
        (48, 256, [32, 40]),  # 40 warps
        (48, 128, [40]),  # 40 warps
        (56, 128, [40, 48]),  # 36 warps
        (56, 256, [48]),  # 32 warps
        (80, 256, [64]),
    ],
)
def test_a_kernel_that_loads_in_several_loops_gets_more_ctas(registers: int, threads: int, limits: list[int]) -> None:
    assert candidate_limits(H100, RegisterDemand(reading_loops=2), registers, 0, threads) == limits


def test_a_loop_that_needs_little_gets_full_occupancy() -> None:
    demand = RegisterDemand(carried=8, loaded=8, reading_loops=1)
    assert candidate_limits(H100, demand, 56, 0, 128) == [32]


def test_shared_memory_that_leaves_no_room_for_a_cta_more() -> None:
    assert candidate_limits(H100, RegisterDemand(shared_bytes=70 * 1024), 80, 0, 256) == []


def test_limits_follow_the_architecture() -> None:
    """48 warps of an SM of sm_86 take 40 registers each: nothing is gained below."""
    assert candidate_limits(ARCHITECTURES[86], RegisterDemand(), 48, 0, 128) == [40]
    assert candidate_limits(ARCHITECTURES[86], RegisterDemand(), 40, 0, 128) == []
