"""A random control-flow program from a seed, and what the reference says that it computes.

generate(7)  →  the same `Program` and arrays on every machine
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from minitriton.fuzz.control_flow import tiles
from minitriton.fuzz.control_flow.builder import ProgramBuilder
from minitriton.fuzz.control_flow.descriptors import Descriptors
from minitriton.fuzz.control_flow.loops import MOST_DEPTH, emit_assume, emit_branch, emit_local_sum, emit_loop
from minitriton.fuzz.control_flow.matrices import Matrices
from minitriton.fuzz.control_flow.program import Program
from minitriton.fuzz.control_flow.reference import run_reference
from minitriton.fuzz.control_flow.values import Rejected

ATTEMPTS = 200

Statement = Callable[[], object]


def generate(seed: int) -> tuple[Program, list[np.ndarray]]:
    """The program of `seed`, and its arrays after the run."""
    for attempt in range(ATTEMPTS):
        program = _drawn(seed, random.Random(f"{seed}/{attempt}"))
        try:
            return program, run_reference(program)
        except Rejected:
            continue
    raise AssertionError(f"no program for seed {seed} in {ATTEMPTS} attempts")


def _drawn(seed: int, rng: random.Random) -> Program:
    b = ProgramBuilder(seed, rng)
    matrices = Matrices(b) if b.chance(0.3) else None
    if matrices is None:
        tiles.start(b)
    statements = _of_matrices(b, matrices) if matrices is not None else _of_tiles(b)
    budget = rng.randint(2, 7) if matrices is not None else rng.randint(3, 13)

    def some() -> None:
        """A few statements, or a block of them."""
        nonlocal budget
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            budget -= 1
            pick = rng.random()
            if b.depth < MOST_DEPTH and budget > 0 and pick < 0.33:
                emit_loop(b, some)
            elif b.depth < MOST_DEPTH and budget > 0 and pick < 0.4:
                emit_local_sum(b, some)
            elif b.depth < MOST_DEPTH and budget > 0 and pick < 0.5:
                emit_branch(b, some)
            elif pick < 0.56:
                emit_assume(b, some)
            else:
                b.weighted(statements)()
        if b.depth and rng.random() < 0.5:
            tiles.update_scalar(b)

    while budget > 0:
        emit_loop(b, some) if b.chance(0.6) else some()
    if matrices is not None and b.chance(0.7):
        b.weighted([(matrices.dot, 1.0), (matrices.sum_of_products, 2.0)])()
    matrices.finish() if matrices is not None else tiles.finish(b)
    return b.finished()


def _of_tiles(b: ProgramBuilder) -> list[tuple[Statement, float]]:
    kinds: list[tuple[Callable[[ProgramBuilder], None], float]] = [
        (tiles.update_tile, 5.0), (tiles.update_scalar, 5.0), (tiles.load, 3.0), (tiles.store, 3.0), (tiles.store_cell, 1.5),
        (tiles.load_cell, 1.5), (tiles.reduce_tile, 1.5), (tiles.select_of_masked_load, 1.2), (tiles.call, 0.8), (tiles.atomic, 0.6),
    ]  # fmt: skip
    statements: list[tuple[Statement, float]] = [((lambda kind=kind: kind(b)), weight) for kind, weight in kinds]
    element, _ = tiles.tile_of(b)
    if b.chance(0.25) and Descriptors.possible(b, element):
        descriptors = Descriptors(b, element, tiles.LOADED)
        b.tile_sources.append(descriptors.load)
        statements.append((lambda: descriptors.store(tiles.tile(b)), 4.0))
    return statements


def _of_matrices(b: ProgramBuilder, matrices: Matrices) -> list[tuple[Statement, float]]:
    return [
        (matrices.dot, 4.0),
        (matrices.sum_of_products, 4.0),
        (matrices.rewrite, 2.0),
        (lambda: tiles.update_scalar(b), 3.0),
        (lambda: tiles.store_cell(b), 1.0),
        (lambda: tiles.load_cell(b), 1.0),
    ]
