"""How many blocks an SM holds, and which limits of registers are worth trying."""

from __future__ import annotations

import pytest

from minitriton.codegen.occupancy import blocks_on_sm, register_limits, registers_for


@pytest.mark.parametrize(
    ("registers", "threads", "shared", "blocks"),
    [
        (80, 256, 0, 3),
        (64, 256, 0, 4),
        (65, 256, 0, 3),
        (32, 256, 0, 8),
        (16, 256, 0, 8),
        (32, 32, 0, 32),
        (76, 32, 0, 25),
        (255, 1024, 0, 0),
        (32, 128, 49152, 4),
        (32, 128, 231424, 1),
    ],
)
def test_blocks_on_an_sm(registers: int, threads: int, shared: int, blocks: int) -> None:
    assert blocks_on_sm(registers, threads, shared) == blocks


@pytest.mark.parametrize(
    ("blocks", "threads"),
    [(b, t) for t in (32, 64, 128, 256, 512, 1024) for b in range(1, 33) if b * t <= 2048],
)
def test_registers_for_blocks_are_the_most(blocks: int, threads: int) -> None:
    most = registers_for(blocks, threads)
    assert blocks_on_sm(most, threads) >= blocks
    assert blocks_on_sm(most + 1, threads) < blocks


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
        (136, 256, [64, 128]),  # one block
        (80, 256, [64]),  # two-pass layer norm of 8192: Triton's ptxas gives it 64
        (71, 256, [64]),  # column sum of a 512x32 tile
        (168, 32, [64, 152]),  # a warp is a block
    ],
)
def test_limits_worth_trying(registers: int, threads: int, limits: list[int]) -> None:
    assert register_limits(registers, threads) == limits


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
def test_a_kernel_that_reads_in_turns_gets_more_blocks(registers: int, threads: int, limits: list[int]) -> None:
    assert register_limits(registers, threads, reads_in_turns=True) == limits


def test_shared_memory_that_leaves_no_room_for_a_block_more() -> None:
    assert register_limits(80, 256, 70 * 1024) == []
