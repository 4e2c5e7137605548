"""The configurations that a kernel could have, from the tensor core's instructions, and why others could not.

    configurations(problem).kept       BM=64..256, BN=16..256, BK=32..128, 4 or 8 warps, 1 to 5 stages, those that fit
    configurations(problem).dropped    "BM=256, BN=256, BK=64, ..., num_stages=4": 262144 bytes of shared memory of 232448

What fits depends on the kernel, its types and the target, not on sizes: it is found once for each kind. What a size rules out is asked of
`misfit_of_size`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from minitriton.analysis.tile_roles import Tile, TileRoles, elements
from minitriton.host.functions import next_power_of_2
from minitriton.runtime.autotuner import Config
from minitriton.runtime.tuning.problem import Problem
from minitriton.runtime.tuning.resources import STEP_BITS, resources
from minitriton.runtime.tuning.taken import Resources
from minitriton.target import GPUTarget
from minitriton.target.architectures import architecture_named
from minitriton.target.tensor_map import GRAIN

ROWS = (16, 32, 64, 128, 256)
"""Of a dot's tile: `mma.sync` has 16, `wgmma` 64 for each warp group."""
COLUMNS = (16, 32, 64, 128, 256)
"""`wgmma` has up to 256 columns in steps of 8, tensors have powers of two."""
STEPS = (2, 4, 8)
"""Instructions along K of one tile: 256 bits of an operand each, so that rows of 64, 128 and 256 bytes are loaded."""
ELEMENTS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
"""Of a tile with one axis that programs or loops go by."""
SIDES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Of a tile with several such axes."""
GROUPS = (1, 4, 8, 16)
USUAL_GROUP = 8
"""Comes first: where L2 holds all operands, all are equally fast by the model."""
SPLITS = (1, 2, 4, 8, 16)
WARPS_OF_DOTS = (4, 8)
WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4, 5)
PROGRAMS_PER_SM = (1, 2)

LARGEST_TILE = 1 << 15
"""Elements of a tile without dots: 128 KiB of f32, half of the registers of an SM."""


@dataclass(frozen=True)
class Misfit:
    """Why a configuration cannot be: it needs `needed` of what there is `limit`."""

    what: str
    """`shared memory`, `registers`, `threads`, `tensor copy`, `multiple`, `axis`, `work`, `tile`."""
    needed: int
    limit: int
    text: str


@dataclass(frozen=True)
class Fit:
    """A configuration with what it takes."""

    config: Config
    resources: Resources


@dataclass(frozen=True)
class Space:
    """What a kernel of one kind could have."""

    kept: tuple[Fit, ...]
    dropped: tuple[tuple[Config, Misfit], ...]
    """Without what takes nothing (`schedules`), which is left to the ranking."""


_spaces: dict[tuple[str, tuple[tuple[str, int], ...]], Space] = {}


def configurations(problem: Problem) -> Space:
    """The space of `problem`, found once for each kind and each length of axes that a tile covers."""
    covered = _covered(problem)
    key = problem.kind, tuple(covered.items())
    if key not in _spaces:
        _spaces[key] = _space(problem, covered)
    return _spaces[key]


def _covered(problem: Problem) -> dict[str, int]:
    """The values of tiles that must cover an axis: the next power of two."""
    found: dict[str, int] = {}
    for tile in problem.roles.tiles.values():
        if tile.covers_axis and tile.extent is not None and tile.extent in problem.sizes:
            found[tile.name] = next_power_of_2(problem.sizes[tile.extent])
    return found


def _space(problem: Problem, covered: Mapping[str, int]) -> Space:
    kept: list[Fit] = []
    dropped: list[tuple[Config, Misfit]] = []
    architecture = architecture_named(problem.target.ttg_target)
    for values in _values(problem, covered):
        large = _too_large(problem.roles, {**problem.given, **values})
        if large is not None:
            dropped.append((Config(values), large))
            continue
        for num_warps, num_stages in _options(problem.roles, values):
            config = Config(values, num_warps, num_stages)
            misfit = _too_little_work(problem.roles, {**problem.given, **values}, num_warps, architecture.warp_size)
            misfit = misfit or _misfit_of_copies(problem.roles, {**problem.given, **values})
            if misfit is None:
                taken = resources(problem.roles, {**problem.given, **values}, num_warps, num_stages, architecture)
                misfit = misfit_of_resources(taken, problem.target)
                if misfit is None:
                    kept.append(Fit(config, taken))
                    continue
            dropped.append((config, misfit))
    return Space(tuple(kept), tuple(dropped))


def _values(problem: Problem, covered: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Every combination of values of free constants."""
    roles = problem.roles
    of_elements = [t for t in roles.tiles.values() if not t.of_dots and t.name not in covered]
    choices = {
        tile.name: (covered[tile.name],) if tile.name in covered else _lengths(tile, roles, len(of_elements), problem)
        for tile in roles.tiles.values()
    }
    choices |= dict.fromkeys(roles.stages, STAGES)
    choices = {name: values for name, values in choices.items() if name not in problem.given}
    for combination in itertools.product(*choices.values()):
        yield dict(zip(choices, combination, strict=True))


def schedules(problem: Problem) -> list[dict[str, int]]:
    """Every combination of constants that take nothing of an SM: in which order programs go, how many there are, the parts of K."""
    roles = problem.roles
    choices: dict[str, Sequence[int]] = dict.fromkeys(
        roles.group, (USUAL_GROUP, *(g for g in GROUPS if g != USUAL_GROUP))
    )
    choices |= dict.fromkeys(roles.split_k, SPLITS if roles.has_atomics else (1,))
    choices |= {name: [n * problem.multiprocessors for n in PROGRAMS_PER_SM] for name in roles.programs}
    free = {name: values for name, values in choices.items() if name not in problem.given}
    return [dict(zip(free, combination, strict=True)) for combination in itertools.product(*free.values())]


def _lengths(tile: Tile, roles: TileRoles, axes: int, problem: Problem) -> Sequence[int]:
    """What a tile may be long."""
    if "K" in tile.of_dots and tile.of_dots == ("K",):
        bits = min((dot.bits for dot in roles.dots), default=16)
        return tuple(steps * STEP_BITS // bits for steps in STEPS)
    if tile.of_dots:
        return ROWS if "M" in tile.of_dots else COLUMNS
    return ELEMENTS if axes == 1 else SIDES


def _options(roles: TileRoles, values: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Warps and stages: stages count where loads of a loop feed dots, or the loop says how many by a constant."""
    staged = any(dot.loop is not None for dot in roles.dots)
    of_constants = [values[name] for name in roles.stages if name in values]
    stages = of_constants[:1] or (STAGES if staged else (3,))
    yield from itertools.product(WARPS_OF_DOTS if roles.dots else WARPS, stages)


def _too_large(roles: TileRoles, values: Mapping[str, Any]) -> Misfit | None:
    """Whether a tile without dots has more elements than an SM should hold."""
    most = round(max((elements(work.shape, values) for work in roles.work), default=0))
    if roles.dots or most <= LARGEST_TILE:
        return None
    return Misfit("tile", most, LARGEST_TILE, f"a tile of {most} elements, of {LARGEST_TILE}")


def _too_little_work(roles: TileRoles, values: Mapping[str, Any], num_warps: int, warp_size: int) -> Misfit | None:
    """Whether warps would hold copies of each other's elements, or threads more than their registers."""
    shapes = [(dot.m, dot.n) for dot in roles.dots] or [
        w.shape for w in roles.work if w.kind in ("load", "store", "atomic") and w.shape
    ]
    most = round(max((elements(shape, values) for shape in shapes), default=0))
    threads = num_warps * warp_size
    if most < threads:
        return Misfit("work", threads, most, f"{threads} threads have {most} elements")
    if not roles.dots and most > 64 * threads and num_warps < max(WARPS):
        return Misfit(
            "registers",
            most // threads,
            64,
            f"{most // threads} elements a thread, where more warps have room for them",
        )
    return None


def _misfit_of_copies(roles: TileRoles, values: Mapping[str, Any]) -> Misfit | None:
    """What the unit of tensor copies cannot move: rows of no whole 16 bytes (PTX ISA, "cp.async.bulk.tensor")."""
    for work in roles.work:
        if work.by_descriptor and work.shape:
            row = round(work.shape[-1].at(values) * work.bits / 8)
            if row % GRAIN:
                return Misfit(
                    "tensor copy", GRAIN, row, f"rows of {row} bytes, where tensor copies move {GRAIN} at a time"
                )
    return None


def misfit_of_resources(taken: Resources, target: GPUTarget) -> Misfit | None:
    """What of a CTA the target has not got."""
    architecture = architecture_named(target.ttg_target)
    if taken.shared_bytes > architecture.max_shared_memory:
        limit = architecture.max_shared_memory
        return Misfit(
            "shared memory", taken.shared_bytes, limit, f"{taken.shared_bytes} bytes of shared memory, of {limit}"
        )
    if taken.threads > architecture.threads_per_cta:
        return Misfit(
            "threads",
            taken.threads,
            architecture.threads_per_cta,
            f"{taken.threads} threads, of {architecture.threads_per_cta}",
        )
    limit = architecture.most_registers(taken.threads)
    if taken.accumulators >= limit:
        return Misfit(
            "registers",
            taken.accumulators,
            limit,
            f"{taken.accumulators} registers of accumulators a thread, of {limit}",
        )
    return None


def misfit_of_size(problem: Problem, config: Config) -> Misfit | None:
    """What keeps `config` from being right, or sensible, for the sizes of `problem`."""
    for tile in problem.roles.tiles.values():
        size = problem.sizes.get(tile.extent or "")
        length = config.kwargs.get(tile.name)
        if size is None or not isinstance(length, int):
            continue
        splits = [config.kwargs.get(name, 1) for name in problem.roles.split_k] if "K" in tile.of_dots else []
        if not tile.is_guarded and size % (length * prod(splits)):
            of = " * ".join([f"{tile.name}={length}", *map(str, splits)])
            text = f"{tile.extent}={size} is not a multiple of {of}, and its accesses are not masked"
            return Misfit("multiple", length * prod(splits), size, text)
        least = 16 if tile.of_dots else 1
        if length > max(next_power_of_2(size), least) and not tile.covers_axis:
            return Misfit("axis", length, size, f"{tile.name}={length} is longer than {tile.extent}={size}")
    return None


def least_misfits(dropped: Sequence[tuple[Config, Misfit]], most: int = 3) -> list[str]:
    """The configurations that miss by least, for an error that says by how much."""
    by_excess = sorted(dropped, key=lambda pair: pair[1].needed / max(pair[1].limit, 1))
    return [f"{config}: {misfit.text}" for config, misfit in by_excess[:most]]


def count(space: Space) -> int:
    """How many configurations were looked at."""
    return len(space.kept) + len(space.dropped)
