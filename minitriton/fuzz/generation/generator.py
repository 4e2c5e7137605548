"""A random kernel from a seed: loads, a handful of steps, loops and branches around more steps, stores.

generate(7)  →  the same `Kernel` on every machine
"""

from __future__ import annotations

import random

from minitriton.fuzz.generation.accesses import emit_load, emit_store, program_number
from minitriton.fuzz.generation.builder import KernelBuilder
from minitriton.fuzz.generation.control_steps import (
    emit_accumulated_reduction,
    emit_atomic,
    emit_branch,
    emit_call,
    emit_loop,
    emit_return,
)
from minitriton.fuzz.generation.elements import ELEMENTS, INT32, INT64
from minitriton.fuzz.generation.steps import choose, step
from minitriton.fuzz.generation.tile_steps import STEPS
from minitriton.fuzz.tree import (
    Expr,
    Kernel,
    Name,
    Stmt,
    expressions,
    names_in,
    nested,
)
from minitriton.fuzz.validity.analysis import Analysis, analyse
from minitriton.fuzz.validity.facts import Unsound
from minitriton.target.architectures import WARP_SIZE

ATTEMPTS = 50
MOST_STORES = 4


def kernel_seed(seed: int, number: int) -> int:
    """The seed of kernel `number` of the run `seed`."""
    return random.Random(f"{seed}:{number}").getrandbits(48)


def generate(seed: int) -> Kernel:
    """The kernel of `seed`."""
    return generate_analysed(seed)[0]


def generate_analysed(seed: int) -> tuple[Kernel, Analysis]:
    """The kernel of `seed`, and what is known of it."""
    for attempt in range(ATTEMPTS):
        try:
            kernel = _generate(seed, random.Random(f"{seed}/{attempt}"))
            return kernel, analyse(kernel)
        except Unsound:
            continue
    raise AssertionError(f"no kernel for seed {seed} in {ATTEMPTS} attempts")


def _generate(seed: int, rng: random.Random) -> Kernel:
    grid = rng.choice([(1,), (2,), (2,), (3,), (4,), (2, 2), (1, 3)])
    num_warps = rng.choice([1, 2, 4, 4, 4, 8])
    is_small = rng.random() < 0.2
    b = KernelBuilder(seed, rng, grid, num_warps, rng.random() < 0.75)
    b.shapes = _shapes(rng, WARP_SIZE * num_warps if is_small else 1 << 10)
    for _ in range(rng.randint(2, 4)):
        b.attempt(lambda: emit_load(b, rng.choice(b.shapes)))
    if rng.random() < 0.3:
        b.attempt(lambda: b.emit(_scalar_value(b)))
    for _ in range(rng.randint(3, 10)):
        pick = rng.random()
        if pick < 0.12:
            b.attempt(lambda: emit_loop(b))
        elif pick < 0.15:
            b.attempt(lambda: emit_accumulated_reduction(b))
        elif pick < 0.21:
            b.attempt(lambda: emit_branch(b))
        elif pick < 0.25:
            b.attempt(lambda: emit_call(b))
        elif pick < 0.28:
            b.attempt(lambda: emit_atomic(b))
        elif pick < 0.3:
            b.attempt(lambda: emit_return(b))
        else:
            step(b, STEPS)
    _stores(b)
    return b.finished()


def _shapes(rng: random.Random, largest: int) -> list[tuple[int, ...]]:
    """A few shapes that go together, of at most `largest` elements: one whole, and parts of it."""
    rank = rng.choice([1, 1, 1, 2, 2, 2, 3])
    most = min(largest, 512 if rank == 3 else 1024)
    while True:
        shape = tuple(
            1 << rng.choice([0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8] if rank < 3 else [0, 1, 2, 3, 4]) for _ in range(rank)
        )
        size = 1
        for n in shape:
            size *= n
        if 2 <= size <= most:
            break
    found = [shape, shape, shape]
    if rank > 1:
        found += [(n,) for n in shape if n > 1]
    if rank == 3:
        found.append(shape[1:])
    if rng.random() < 0.2:
        found.append(())
    return found


def _scalar_value(b: KernelBuilder) -> Expr:
    """A number from outside: a parameter, or the program's."""
    pick = b.random.random()
    if pick < 0.3:
        return program_number(b)
    if pick < 0.7:
        return Name(b.scalar(INT32, b.random.choice([0, 1, 2, 3, 7, 16, 48, -5, 1000])))
    if pick < 0.8:
        return Name(b.scalar(INT64, b.random.choice([1 << 40, -(1 << 33), 1 << 31])))
    return Name(b.scalar(ELEMENTS["float32"], b.random.choice([0.5, 2.0, -1.25, 3.0])))


def _stores(b: KernelBuilder) -> None:
    """Stores what nothing else uses, the newest first."""
    used = {name for s in b.body for name in _mentioned(s)}
    loose = [n for n in b.values if n in b.analysis.env and n not in used and not b.type_of(n).type.pointer]
    stored = 0
    for name in reversed(loose):
        if stored < MOST_STORES and b.attempt(lambda name=name: emit_store(b, name)):
            stored += 1
    if not stored:
        emit_store(b, choose(b, lambda v: True))


def _mentioned(statement: Stmt) -> set[str]:
    found = {n for e in expressions(statement) for n in names_in(e)}
    for body in nested(statement):
        for inner in body:
            found |= _mentioned(inner)
    return found
