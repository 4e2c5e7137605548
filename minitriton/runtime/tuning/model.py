"""How long a launch with each configuration takes, by what it has to do and what an SM can do: a model that can be read.

    time = launch + norm(memory, all of L2, waves)
        memory     bytes that come from memory, those that a wave of CTAs shares counted once, over its bandwidth; longer with few under way
        waves      full waves of as many CTAs as SMs hold at once, and the last one with fewer; each takes
            start      the first loads, and the store at the end
            the longer of
              alone      what one CTA takes by itself: iterations, each the longer of its dots and the latency of a load over the stages
              together   what the CTAs of an SM take: tensor cores, bytes from L2, bytes of shared memory, instructions, special functions

In cycles of an SM. All configurations of a kernel's space are estimated at once: what does not depend on sizes is in a `Profile`, made once.
The weights are a fit to half of 74 cases, 25,551 configurations measured on an H200 (`benchmarks/tile_search.py --fit`, 2026-11-28), evaluated on the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from minitriton.analysis.tile_roles import Dot, Loop, TileRoles, Work, elements
from minitriton.runtime.tuning.resources import instruction_of, is_k_major, is_swapped, mma_layout
from minitriton.runtime.tuning.taken import WORD_BITS, Resources, bytes_of
from minitriton.target.architectures import Architecture, Speeds

Array = np.ndarray[Any, np.dtype[np.float64]]

LINE = 128
"""Bytes of a line of L1: shorter runs take as long."""
SECTOR = 32
"""Bytes that memory moves at least."""
UNKNOWN_SIZE = 4096
"""Elements of an axis whose length no argument says, and programs of a kernel without tiles to count."""
UNKNOWN_TRIPS = 8


@dataclass(frozen=True)
class Weights:
    """What the model multiplies by: 1 would be a data sheet's number. Only their ratios matter for a ranking."""

    launch: float = 1.43e04
    """Cycles of a launch that does nothing."""
    start: float = 135
    """Of a CTA before its first load, and after its last store."""
    iteration: float = 73.7
    """Of a loop's barriers and waits, a run."""
    latency: float = 1.51
    tensor: float = 0.626
    shared: float = 0.885
    l2: float = 0.536
    l2_all: float = 0.419
    """Of L2 as a whole, which all SMs share: `l2` is what one of them can get."""
    memory: float = 0.275
    issue: float = 0.643
    special: float = 2.01
    narrow: float = 0.324
    lines: float = 0.358
    serial: float = 1.14
    spill: float = 0.778
    reduce: float = 10.4
    """Cycles of a reduction across the lanes of a warp, and as many again across warps."""
    order: float = 2.43
    """Of the norm of what happens at the same time."""
    in_flight: float = 1.6
    """By how much memory is slower where no more bytes are under way than bandwidth times latency."""
    resident: float = 6.92
    """Of L2, what holds operands that are read again."""


DEFAULT = Weights()
DATA_SHEET = Weights(
    launch=1e4, start=300, iteration=100, latency=1.0, tensor=1.0, shared=1.0, l2=1.0, l2_all=1.0, memory=1.0, issue=1.0, special=1.0, narrow=1.0,
    lines=1.0, serial=1.0, spill=1.0, reduce=30, order=2.43, in_flight=1.0, resident=1.0,
)  # fmt: skip
"""Of AMD's GPUs, of which none was measured: each cause takes what data sheets say (`target.amd.SPEEDS`); launches, starts and loops are guesses."""


def weights_of(backend: str) -> Weights:
    """Those that were fitted, or the data sheet's where nothing was measured."""
    return DEFAULT if backend == "cuda" else DATA_SHEET


CAUSES = ("tensor", "shared", "l2", "issue", "special", "narrow", "lines", "spill")
"""What the CTAs of an SM share. `narrow`: loads of a loop that move less than 16 bytes; `lines`: of L1, which accesses look up;
`spill`: what has no registers."""
ALONE = ("serial", "through")
"""Of one CTA: `serial`: operands of `wgmma` that are read or written anew between a copy and a dot; `through`: loads of a loop without `cp.async`."""
SCHEDULERS = 4
"""Of an SM: each issues for a quarter of the warps."""
SMALLEST_COPY, WIDEST_COPY = 4, 16
"""Bytes that `cp.async` copies (PTX ISA, "cp.async"); what a load of fewer moves is held in registers, with its address."""


@dataclass(frozen=True)
class Times:
    """Of every configuration of a space for one size."""

    microseconds: Array
    ctas: Array
    waves: Array
    parts: Mapping[str, Array]
    """Microseconds by cause; causes overlap."""


@dataclass
class Profile:
    """What configurations do in each run of each loop; `None` is what is outside of loops."""

    roles: TileRoles
    values: Mapping[str, Array]
    kwargs: Sequence[Mapping[str, Any]]
    warps: Array
    stages: Array
    ctas_on_sm: Array
    speeds: Speeds
    amounts: Mapping[int | None, Mapping[str, Array]]
    """By loop and cause: cycles of an SM a run, without weights; `bytes` of arrays, `stored` of them, `reductions`."""
    batches: Array = field(default_factory=lambda: np.ones(1))

    @classmethod
    def of(
        cls,
        roles: TileRoles,
        given: Mapping[str, Any],
        rows: Sequence[tuple[Mapping[str, Any], int, int, Resources]],
        architecture: Architecture,
        speeds: Speeds,
    ) -> Profile:
        """The profile of `rows`: constants, warps, stages and resources of each configuration."""
        names = [name for name in {**given, **rows[0][0]} if isinstance({**given, **rows[0][0]}[name], int | float)]
        values = {name: np.array([float({**given, **kwargs}[name]) for kwargs, *_ in rows]) for name in names}
        loops: list[int | None] = [None, *range(len(roles.loops))]
        amounts: dict[int | None, dict[str, Array]] = {
            loop: {what: np.zeros(len(rows)) for what in (*CAUSES, *ALONE, "bytes", "stored", "reductions")}
            for loop in loops
        }
        warps = np.array([float(row[1]) for row in rows])
        for dot in roles.dots:
            cycles = [
                _dot_cycles(dot, {**given, **kwargs}, num_warps, architecture, speeds)
                for kwargs, num_warps, _, _ in rows
            ]
            for number, cause in enumerate(("tensor", "shared", "serial")):
                amounts[dot.loop][cause] += [each[number] for each in cycles]
        threads = warps * architecture.warp_size
        for work in roles.work:
            _add_work(amounts[work.loop], work, values, threads, speeds)
        if architecture.sm.startswith("gfx"):
            for each in amounts.values():  # loads wait in registers, however narrow they are
                each["through"][:] = 0
        if roles.dots:
            missing = np.array([float(row[3].registers) for row in rows]) - architecture.registers_per_thread
            amounts[roles.dots[-1].loop]["spill"] += np.maximum(missing, 0) * threads * 8 / speeds.l2_bytes_per_sm
        return cls(
            roles, values, [kwargs for kwargs, *_ in rows], warps, np.array([float(row[2]) for row in rows]),
            np.array([_ctas_on_sm(row[3], architecture) for row in rows]), speeds, amounts,
        )  # fmt: skip

    def times(
        self,
        sizes: Mapping[str, int],
        multiprocessors: int,
        grid: Callable[[Mapping[str, Any]], Sequence[int]] | Sequence[int] | None = None,
        weights: Weights = DEFAULT,
    ) -> Times:
        """The times of all configurations for `sizes`; `grid` gives the shape of the grid by a configuration's constants."""
        speeds = self.speeds
        tiles = self._tiles(sizes)
        ctas = self._ctas(sizes, tiles, grid)
        trips = self._trips(sizes, ctas)
        totals = {cause: np.zeros(len(ctas)) for cause in CAUSES}
        moved, stored = np.zeros(len(ctas)), np.zeros(len(ctas))
        for loop, amounts in self.amounts.items():
            runs = trips[loop]
            for cause in CAUSES:
                totals[cause] += getattr(weights, cause) * amounts[cause] * runs
            moved += amounts["bytes"] * runs
            stored += amounts["stored"] * runs
        alone = self._alone(trips, weights, speeds)
        slots = multiprocessors * self.ctas_on_sm
        full, rest = np.divmod(ctas, slots)
        whole = weights.start + _norm([alone, *(self.ctas_on_sm * total for total in totals.values())], weights.order)
        last = weights.start + _norm(
            [alone, *(np.ceil(rest / multiprocessors) * t for t in totals.values())], weights.order
        )
        waves = full * whole + np.where(rest > 0, last, 0.0)
        from_memory = self._memory_bytes(sizes, ctas, tiles, moved, stored, slots, speeds, weights)
        needed = speeds.memory_bytes * weights.latency * speeds.memory_latency
        idle = 1 + weights.in_flight * needed / np.maximum(self._in_flight() * np.minimum(ctas, slots), 1.0)
        memory = weights.memory * from_memory / speeds.memory_bytes * idle
        scale = 1 / speeds.megahertz
        parts = {cause: total * ctas / multiprocessors * scale for cause, total in totals.items()}
        from_l2 = weights.l2_all * moved * ctas / (speeds.l2_bytes_per_sm * multiprocessors)
        parts |= {
            "memory": memory * scale,
            "all of L2": from_l2 * scale,
            "latency": alone * np.ceil(ctas / slots) * scale,
        }
        taken = weights.launch + _norm([memory, from_l2, waves], weights.order)
        return Times(taken * scale, ctas, ctas / slots, parts)

    def _tiles(self, sizes: Mapping[str, int]) -> Array:
        """How many tiles programs split the axes into."""
        tiles = [tile for tile in self.roles.tiles.values() if tile.is_split_by_programs]
        stepped = {name for loop in self.roles.loops if not loop.is_persistent for _, name in loop.parts}
        counts = [self._count(sizes, tile.extent, tile.name) for tile in tiles if tile.name not in stepped]
        return np.ones(len(self.kwargs)) * prod(counts, start=1.0)

    def _count(self, sizes: Mapping[str, int], extent: str | None, tile: str) -> Array:
        return np.ceil(sizes.get(extent or "", UNKNOWN_SIZE) / self.values[tile])

    def _ctas(
        self,
        sizes: Mapping[str, int],
        tiles: Array,
        grid: Callable[[Mapping[str, Any]], Sequence[int]] | Sequence[int] | None,
    ) -> Array:
        if callable(grid):
            return np.array([float(max(prod(grid(kwargs)), 1)) for kwargs in self.kwargs])
        if grid is not None:
            return np.full(len(self.kwargs), float(max(prod(grid), 1)))
        ctas = tiles * prod((self.values[name] for name in self.roles.split_k if name in self.values), start=1.0)
        if not any(tile.is_split_by_programs for tile in self.roles.tiles.values()):
            bounds = [
                sizes[name] for loop in self.roles.loops if loop.is_persistent for name in loop.bounds if name in sizes
            ]
            ctas = ctas * float(max(bounds, default=UNKNOWN_SIZE))
        for name in self.roles.programs:
            ctas = np.minimum(ctas, self.values[name]) if name in self.values else ctas
        return np.maximum(ctas, 1.0)

    def _trips(self, sizes: Mapping[str, int], ctas: Array) -> dict[int | None, Array]:
        """How often each loop's body runs in a CTA, with the loops around it."""
        found: dict[int | None, Array] = {None: np.ones(len(ctas))}
        for number, loop in enumerate(self.roles.loops):
            found[number] = self._trips_of(loop, sizes, ctas) * found[loop.parent]
        return found

    def _trips_of(self, loop: Loop, sizes: Mapping[str, int], ctas: Array) -> Array:
        parts: list[Array] = [self._count(sizes, extent, tile) for extent, tile in loop.parts if tile in self.values]
        if loop.is_open:
            return np.maximum(self._tiles(sizes) / ctas, 1.0)
        if loop.is_persistent:
            bounds = [float(sizes.get(name, 1)) for name in loop.bounds]
            return np.maximum(prod(parts or bounds, start=np.ones(len(ctas))) / ctas, 1.0)
        if not parts:
            bound = sizes.get(loop.bounds[0], UNKNOWN_TRIPS) / loop.step if loop.bounds else UNKNOWN_TRIPS
            return np.full(len(ctas), max(float(bound), 1.0))
        trips: Array = prod(parts, start=np.ones(len(ctas)))
        of_k = any("K" in self.roles.tiles[tile].of_dots for _, tile in loop.parts if tile in self.roles.tiles)
        splits = [self.values[name] for name in self.roles.split_k if name in self.values] if of_k else []
        return np.ceil(trips / prod(splits, start=1.0))

    def _alone(self, trips: Mapping[int | None, Array], weights: Weights, speeds: Speeds) -> Array:
        """Cycles of a CTA that has an SM for itself."""
        latency = weights.latency * speeds.memory_latency
        ahead = np.maximum(self.stages - 1, 0.25)
        total = np.zeros(len(self.kwargs))
        for loop, amounts in self.amounts.items():
            runs = trips[loop]
            total += weights.reduce * amounts["reductions"] * runs * np.where(self.warps > 1, 2, 1)
            busy = np.maximum(weights.tensor * amounts["tensor"], weights.shared * amounts["shared"])
            loads = amounts["bytes"] > amounts["stored"]
            if loop is None or not any(dot.loop == loop for dot in self.roles.dots):
                instructions = weights.issue * amounts["issue"] + weights.special * amounts["special"]
                busy = busy + instructions * np.maximum(SCHEDULERS / self.warps, 1)
                moved = weights.l2 * amounts["l2"]  # a CTA alone does nothing else while it stores its result
                total += np.where(loads, latency + (runs - 1) * latency / 2, 0.0) + (busy + moved) * runs
                continue
            staged = (self.stages > 1) & (amounts["through"] == 0)
            arrival = latency + weights.l2 * amounts["l2"]
            waited = np.where(staged, _norm([busy, arrival / ahead], weights.order), arrival + busy)
            serial = weights.serial * amounts["serial"]
            total += np.where(loads, latency, 0.0) + runs * (weights.iteration + serial + np.where(loads, waited, busy))
        return total

    def _in_flight(self) -> Array:
        """Bytes of loads that a CTA has under way at once, at most: what an iteration loads, as often as it is pipelined."""
        most = np.zeros(len(self.kwargs))
        for loop, amounts in self.amounts.items():
            pipelined = loop is not None and any(dot.loop == loop for dot in self.roles.dots)
            most = np.maximum(
                most, (amounts["bytes"] - amounts["stored"]) * (np.maximum(self.stages - 1, 1) if pipelined else 1)
            )
        return most

    def _memory_bytes(
        self,
        sizes: Mapping[str, int],
        ctas: Array,
        tiles: Array,
        moved: Array,
        stored: Array,
        slots: Array,
        speeds: Speeds,
        weights: Weights,
    ) -> Array:
        """Bytes that come from memory: of operands that CTAs share once for each wave that does not find them in L2."""
        sides = self._sides(sizes)
        if sides is None:
            return moved * ctas
        (down, a_bytes), (across, b_bytes) = sides
        batch = (
            np.maximum(ctas / np.maximum(down * across, 1), 1)
            if not self.roles.split_k and not self.roles.programs
            else 1.0
        )
        whole = (down * a_bytes + across * b_bytes) * batch
        group = np.minimum(
            prod((self.values[name] for name in self.roles.group if name in self.values), start=1.0), down
        )
        together = np.minimum(np.minimum(ctas, slots), down * across)
        high = np.minimum(group, together)
        wide = np.minimum(np.ceil(together / high), across)
        high = np.where(wide == across, np.minimum(np.maximum(high, np.ceil(together / across)), down), high)
        again = down * across / together * (high * a_bytes + wide * b_bytes)
        stays = (whole <= weights.resident * speeds.l2_bytes) | (np.asarray(batch) > 1)
        return np.where(stays, whole, np.maximum(again, whole)) + stored * ctas

    def _sides(self, sizes: Mapping[str, int]) -> tuple[tuple[Array, Array], tuple[Array, Array]] | None:
        """Of a dot whose rows and columns programs split: how many tiles there are, and bytes of a tile's operand over all of K."""
        if not self.roles.dots:
            return None
        dot = self.roles.dots[0]
        found: list[tuple[Array, Array]] = []
        for size, operand in ((dot.m, dot.a), (dot.n, dot.b)):
            tile = self.roles.tiles.get(size.names[0]) if len(size.names) == 1 else None
            if tile is None or not tile.is_split_by_programs or operand is None:
                return None
            inner = self.roles.tiles.get(dot.k.names[0]) if dot.k.names else None
            runs = self._count(sizes, inner.extent, inner.name) if inner is not None else 1.0
            tile_bytes: Any = elements(operand.shape, self.values) * max(operand.bits // 8, 1) * runs
            found.append((self._count(sizes, tile.extent, tile.name), tile_bytes))
        return found[0], found[1]


def _ctas_on_sm(taken: Resources, architecture: Architecture) -> float:
    registers = min(taken.registers, architecture.most_registers(taken.threads))
    return float(max(architecture.ctas_on_sm(registers, taken.threads, taken.shared_bytes), 1))


def _norm(cycles: Sequence[Array], order: float) -> Array:
    """Of `order`, by the largest, so that no power is out of range."""
    stacked = np.stack([np.broadcast_to(each, cycles[0].shape) for each in cycles])
    most = np.maximum(stacked.max(axis=0), 1e-9)
    return most * ((stacked / most) ** order).sum(axis=0) ** (1 / order)


def _add_work(
    amounts: Mapping[str, Array], work: Work, values: Mapping[str, Array], threads: Array, speeds: Speeds
) -> None:
    """Adds one run of `work`."""
    size = max(work.bits, 8) / 8
    count: Any = elements(work.shape, values) * np.ones_like(threads)
    if work.kind in ("load", "store", "atomic"):
        run: Any = work.shape[work.axis].at(values) * size if work.shape and work.axis >= 0 else size
        moved = count * size * np.maximum(SECTOR / np.maximum(run, 1), 1)
        amounts["bytes"][:] += moved
        amounts["lines"][:] += count if work.is_scattered else count * size / np.minimum(np.maximum(run, 1), LINE)
        amounts["l2"][:] += moved / speeds.l2_bytes_per_sm
        if work.kind != "load":
            amounts["stored"][:] += moved
        width = np.maximum(np.minimum(work.width, count / threads), 1)
        amounts["issue"][:] += np.maximum(count, threads) / width / speeds.lanes * 4
        if work.kind == "load" and work.loop is not None and not work.by_descriptor and work.width * size < WIDEST_COPY:
            through = work.width * size < SMALLEST_COPY
            amounts["narrow"][:] += count / work.width / speeds.lanes * (3 if through else 1)
            amounts["through"][:] += count * through
    elif work.kind == "special":
        amounts["special"][:] += count / speeds.special
    else:
        is_reduced = work.kind in ("reduce", "shuffle")
        amounts["issue"][:] += np.maximum(count, threads) / speeds.lanes * (5 if is_reduced else 1)
        amounts["reductions"][:] += is_reduced


def _dot_cycles(
    dot: Dot, values: Mapping[str, Any], num_warps: int, architecture: Architecture, speeds: Speeds
) -> tuple[float, float, float]:
    """Cycles of an SM's tensor cores, of its shared memory, and of operands that go through registers, for one run of a dot."""
    m, n, k = (size.at(values) for size in (dot.m, dot.n, dot.k))
    if architecture.sm.startswith("gfx"):
        from minitriton.runtime.tuning.waves import lds_bytes_read, matrix_instruction

        found = matrix_instruction(dot, values, architecture)
        is_slow = found.name == "fma" or dot.bits >= WORD_BITS
        flops = speeds.fma_flops if is_slow else speeds.tensor_flops("v_mfma", max(dot.bits, 8))
        return 2 * m * n * k / flops, lds_bytes_read(dot, values, num_warps, architecture) / speeds.shared_bytes, 0.0
    instruction = instruction_of(dot, values, num_warps, architecture)
    is_widened = dot.element.startswith("f8") and instruction == "mma.sync" and not architecture.has_fp8_mma
    tensor = 2 * m * n * k / speeds.tensor_flops(instruction, 16 if is_widened else dot.bits)
    if instruction == "fma":
        return tensor, (m + n) * k * dot.bits / 8 * num_warps / speeds.shared_bytes, 0.0
    swapped = is_swapped(dot, values, num_warps, architecture)
    shape = (round(n), round(m)) if swapped else (round(m), round(n))
    layout = mma_layout(shape, num_warps, dot.bits, dot.element.startswith("i"), instruction)
    rows, columns = layout.warps_per_cta
    if instruction == "wgmma":
        # Each instruction reads its rows of A (swapped: from registers) and all its columns of B.
        width = layout.instr_shape[1]
        instructions = max(shape[0] / 64, 1) * (shape[1] / width)
        read = instructions * ((0 if swapped else 64) + width) * k * dot.bits / 8
        moved = _moved_bytes(dot, values, swapped) / speeds.shared_bytes
        return tensor, read / speeds.shared_bytes + moved, moved
    read = (shape[0] * columns + shape[1] * rows) * k * dot.bits / 8
    written = sum(bytes_of(operand, values) for operand in (dot.a, dot.b) if operand is not None)
    return tensor * max(1.0, 8 / num_warps) ** 0.25, (read + written) / speeds.shared_bytes, 0.0


def _moved_bytes(dot: Dot, values: Mapping[str, Any], swapped: bool) -> float:
    """Bytes of operands that `wgmma` does not take as they are loaded: read into registers; where they must be K-major and are not, also written."""
    moved = 0.0
    for side, operand in (("a", dot.a), ("b", dot.b)):
        if operand is None:
            continue
        transposed = dot.bits == 32 and not is_k_major(operand, side)
        in_registers = (swapped and side == "b") or (side == "a" and (operand.is_computed or transposed))
        if in_registers or transposed or operand.is_computed:
            moved += bytes_of(operand, values) * (1 if in_registers else 2)
    return moved
