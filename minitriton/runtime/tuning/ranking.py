"""`candidates`: the configurations of a kernel for the arguments of a launch, the fastest by the model first, and why.

    ranking = candidates(matmul, (a, b, c, 4096, 4096, 4096))
    ranking[0].config          BM: 128, BN: 256, BK: 64, GROUP: 8, num_warps: 8, num_stages: 3
    print(ranking.explain())   each with its time, CTAs, waves, bytes, registers; what was dropped, and by how much

What was measured before of a kernel of this kind corrects the model: a configuration that took 1.2 times what was expected is expected to
take 1.2 times as long again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, overload

from minitriton.runtime.autotuner import Config
from minitriton.runtime.errors import AutotunerError
from minitriton.runtime.kernel_interface import KernelInterface
from minitriton.runtime.tuning.measured import Measured
from minitriton.runtime.tuning.model import Profile, Times, Weights, weights_of
from minitriton.runtime.tuning.problem import Grid, Problem, problem_of
from minitriton.runtime.tuning.space import Misfit, Space, configurations, least_misfits, misfit_of_size, schedules
from minitriton.runtime.tuning.taken import Resources
from minitriton.target import GPUTarget
from minitriton.target.architectures import architecture_named, speeds_named


@dataclass(frozen=True)
class Estimate:
    """Of one launch."""

    microseconds: float
    ctas: int
    ctas_on_sm: int
    waves: float
    parts: Mapping[str, float]
    """Microseconds by cause; causes overlap."""

    @property
    def limit(self) -> str:
        """The longest cause."""
        return max(self.parts, key=self.parts.__getitem__)


@dataclass(frozen=True)
class Candidate:
    """A configuration that fits, with what it takes and how long."""

    config: Config
    resources: Resources
    estimate: Estimate
    register_limit: int
    """Registers that a thread can have."""
    correction: float = 1.0
    """Of the estimate, by what was measured of this configuration for other sizes."""
    unit: str = "an SM"
    """What CTAs share, as the target's vendor calls it."""

    @property
    def microseconds(self) -> float:
        """The expected time."""
        return self.estimate.microseconds * self.correction

    @property
    def registers(self) -> int:
        """Of a thread, in registers."""
        return min(self.resources.registers, self.register_limit)

    @property
    def registers_spilled(self) -> int:
        """What a thread would need beyond those that there are, which is in local memory."""
        return self.resources.registers - self.registers

    def as_json(self) -> dict[str, Any]:
        """Numbers and names."""
        config = {k: v for k, v in self.config.all_kwargs().items() if isinstance(v, int | float | str)}
        return {
            "config": config, "microseconds": self.microseconds, "correction": self.correction, "limit": self.estimate.limit,
            "ctas": self.estimate.ctas, "ctas_on_sm": self.estimate.ctas_on_sm, "waves": self.estimate.waves,
            "parts": dict(self.estimate.parts), **asdict(self.resources), "registers": self.registers,
            "registers_spilled": self.registers_spilled, "why": self.why,
        }  # fmt: skip

    @property
    def why(self) -> str:
        """The longest causes of its time, and what it takes."""
        e, r = self.estimate, self.resources
        causes = sorted(e.parts, key=lambda name: -e.parts[name])[:2]
        parts = [
            f"{self.microseconds:.1f} us by {' and '.join(f'{name} ({e.parts[name]:.1f})' for name in causes)}",
            f"{e.ctas} CTAs in {e.waves:.2f} waves of {e.ctas_on_sm} on {self.unit}",
            f"{r.shared_bytes} bytes of shared memory", f"{self.registers} registers{f' and {self.registers_spilled} spilled' if self.registers_spilled else ''}", *([r.instruction] if r.instruction else []),
            *(["tensor copies"] if r.is_described else []), *([f"corrected by {self.correction:.2f}"] if self.correction != 1 else []),
        ]  # fmt: skip
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{self.config}: {self.why}"


@dataclass(frozen=True)
class Ranking(Sequence[Candidate]):
    """Candidates, the best first, and what cannot be."""

    problem: Problem
    kept: tuple[Candidate, ...]
    dropped: tuple[tuple[Config, Misfit], ...] = field(repr=False, default=())

    @overload
    def __getitem__(self, index: int) -> Candidate: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Candidate, ...]: ...

    def __getitem__(self, index: int | slice) -> Candidate | tuple[Candidate, ...]:
        return self.kept[index]

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.kept)

    def best(self, count: int) -> list[Candidate]:
        """The first `count` to measure: at most two of the same tiles."""
        chosen: list[Candidate] = []
        seen = Counter[tuple[object, ...]]()
        for candidate in self.kept:
            tile = tuple(candidate.config.kwargs.get(name) for name in self.problem.roles.tiles)
            if seen[tile] < 2:
                seen[tile] += 1
                chosen.append(candidate)
            if len(chosen) == count:
                break
        return chosen or list(self.kept[:count])

    def _limits(self) -> dict[str, int]:
        architecture = architecture_named(self.problem.target.ttg_target)
        return {
            "bytes_of_shared_memory": architecture.max_shared_memory, "registers_of_a_thread": architecture.registers_per_thread,
            f"registers_of_{_unit_of(self.problem.target).replace(' ', '_')}": architecture.registers_per_sm,
            "SMs" if self.problem.target.backend == "cuda" else "compute_units": self.problem.multiprocessors,
        }  # fmt: skip

    def reasons(self) -> list[tuple[str, int]]:
        """For what configurations are dropped, and how many each, the most frequent first."""
        return Counter(misfit.what for _, misfit in self.dropped).most_common()

    def explain(self, *, most: int = 10, as_json: bool = False) -> str:
        """What each constant is for, the first candidates with their reasons, and what was dropped, by reason."""
        if as_json:
            roles = {name: str(tile) for name, tile in self.problem.roles.tiles.items()} | self.problem.of_fixed
            location = self.problem.location
            return json.dumps({
                "kernel": self.problem.name, "location": f"{location.file}:{location.line}" if location else None,
                "target": self.problem.target.ttg_target, "sizes": dict(self.problem.sizes), "roles": roles, "limits": self._limits(),
                "group": self.problem.roles.group, "split_k": self.problem.roles.split_k, "programs": self.problem.roles.programs,
                "candidates": [candidate.as_json() for candidate in self.kept[:most]], "kept": len(self.kept),
                "dropped": [
                    {"config": str(config), "what": m.what, "needed": m.needed, "limit": m.limit, "why": m.text}
                    for config, m in self.dropped
                ],
            }, indent=1)  # fmt: skip
        lines = [
            f"{self.problem.name} for {self.problem.target.ttg_target}",
            *(f"  {line}" for line in str(self.problem.roles).splitlines()),
            *(f"  {name}: {what}" for name, what in self.problem.of_fixed.items()),
        ]
        limits = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in self._limits().items())
        if self.problem.target.backend != "cuda":
            lines.append("times by data sheets: no GPU of this kind was measured")
        lines.append(f"{len(self.kept)} configurations fit, {len(self.dropped)} do not: {limits}")
        lines += [f"  {number + 1}. {candidate}" for number, candidate in enumerate(self.kept[:most])]
        for what, count in self.reasons():
            example = next((config, misfit) for config, misfit in self.dropped if misfit.what == what)
            lines.append(f"dropped for {what}: {count}, such as {example[0]}: {example[1].text}")
        return "\n".join(lines)


def candidates(
    kernel: KernelInterface,
    args: Sequence[object] = (),
    *,
    grid: Grid = None,
    target: GPUTarget | None = None,
    **keywords: Any,
) -> Ranking:
    """The configurations of `kernel` for a launch with `args` and `keywords`, the fastest by the model first.

    Nothing is compiled beyond TTIR, and that once for each kind of arguments. `grid` as in a launch: without it there are as many programs as
    tiles. Raises `AutotunerError` for a kernel without tile sizes, and where nothing fits, with what misses by least.
    """
    return rank(problem_of(kernel, args, keywords, grid, target))


def rank(problem: Problem, weights: Weights | None = None, measured: Measured | None = None) -> Ranking:
    """The ranking of a problem, corrected by what was `measured` of its kind."""
    _check_grid(problem)
    space = configurations(problem)
    dropped = list(space.dropped)
    if not space.kept:
        raise _nothing_fits(problem, dropped)
    orders = schedules(problem)
    profile = _profile(problem, space, orders)
    times = profile.times(
        problem.sizes, problem.multiprocessors, _grid_of(problem), weights or weights_of(problem.target.backend)
    )
    corrections = (measured or Measured(problem.kind)).corrections()
    by_time = times.microseconds.reshape(-1, len(orders)).argsort(axis=1, kind="stable")
    most_registers, unit = architecture_named(problem.target.ttg_target).most_registers, _unit_of(problem.target)
    kept: list[Candidate] = []
    for number, (fit, order) in enumerate(zip(space.kept, by_time, strict=True)):
        misfit: Misfit | None = None
        for choice in order.tolist() if problem.roles.split_k else (int(order[0]),):
            row = number * len(orders) + choice
            config = Config(dict(profile.kwargs[row]), fit.config.num_warps, fit.config.num_stages)
            misfit = misfit_of_size(problem, config)
            if misfit is None:
                made = _estimate(times, row, int(profile.ctas_on_sm[row]))
                correction = corrections.get(str(config), 1.0) if corrections else 1.0
                limit = most_registers(fit.resources.threads)
                kept.append(Candidate(config, fit.resources, made, limit, correction, unit))
                break
        if misfit is not None:
            dropped.append((fit.config, misfit))
    if not kept:
        raise _nothing_fits(problem, dropped)
    kept.sort(key=lambda candidate: candidate.microseconds)
    return Ranking(problem, tuple(kept), tuple(dropped))


def _unit_of(target: GPUTarget) -> str:
    return "an SM" if target.backend == "cuda" else "a compute unit"


def _nothing_fits(problem: Problem, dropped: Sequence[tuple[Config, Misfit]]) -> AutotunerError:
    return AutotunerError(
        f"kernel {problem.name!r}: none of {len(dropped)} configurations fits {problem.target.sm}",
        problem.location,
        help="those that miss by least: " + "; ".join(least_misfits(dropped)),
    )


def _check_grid(problem: Problem) -> None:
    """Raises `AutotunerError` for a grid of numbers where the number of programs follows from tiles."""
    split = [
        tile for tile in problem.roles.tiles.values() if tile.is_split_by_programs and tile.name not in problem.given
    ]
    stays = any(loop.is_persistent for loop in problem.roles.loops)
    grid = problem.grid
    if grid is not None and not callable(grid) and split and not stays:
        raise AutotunerError(
            f"kernel {problem.name!r}: the grid {grid} says nothing of {split[0].name}, by which programs split an axis",
            problem.location,
            help=f"launch it as kernel[lambda meta: (triton.cdiv({split[0].extent or 'n'}, meta['{split[0].name}']), ...)](...)",
        )


_profiles: dict[tuple[str, int], tuple[Space, Profile]] = {}
"""By kind and number of schedules: what does not depend on sizes."""


def _profile(problem: Problem, space: Space, orders: Sequence[Mapping[str, int]]) -> Profile:
    """The profile of a space: each configuration with each schedule of programs."""
    key = problem.kind, len(orders)
    known = _profiles.get(key)
    if known is None or known[0] is not space:
        rows = [
            ({**fit.config.kwargs, **order}, fit.config.num_warps, fit.config.num_stages, fit.resources)
            for fit in space.kept
            for order in orders
        ]
        known = _profiles[key] = (
            space,
            Profile.of(
                problem.roles,
                problem.given,
                rows,
                architecture_named(problem.target.ttg_target),
                speeds_named(problem.target.ttg_target),
            ),
        )
    return known[1]


def _grid_of(problem: Problem) -> Any:
    """The grid by a configuration's constants."""
    grid, arguments = problem.grid, {**problem.arguments, **problem.given}
    if not callable(grid):
        return grid

    def shape(kwargs: Mapping[str, Any]) -> tuple[int, ...]:
        return grid({**arguments, **kwargs})

    return shape


def _estimate(times: Times, row: int, ctas_on_sm: int) -> Estimate:
    parts = {name: float(part[row]) for name, part in times.parts.items() if part[row]}
    return Estimate(float(times.microseconds[row]), int(times.ctas[row]), ctas_on_sm, float(times.waves[row]), parts)
