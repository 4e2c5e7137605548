"""How long a launch takes, from what was counted: a model that can be read.

    cycles = launch + the norm (of order `MIXING`) of
        issue       instructions of all warps, over the schedulers: each SM has four, and they take one instruction a cycle each
        memory      bytes of the arrays, over the bandwidth of memory; of the L2 cache where they fit into it
        cache       sectors that loads and stores ask for, over the bandwidth of the L2 cache: of those asked for again, a share
        shared      wavefronts, over the SMs
        special     exponentials, divisions and conversions, which have fewer lanes
        tensor      operations of tensor cores, over their rate
        waiting     what one CTA waits for by itself (loads, barriers, exchanges), times the rounds in which the CTAs run: as many at
                    once as occupancy lets

In: the metrics of groups `counts` and `machine`. Out: cycles of an SM's clock. The norm lets the longest cause decide and the others
still count, which ranks programs whose longest cause is the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

MULTIPROCESSORS = 132
SCHEDULERS = 4
WARPS_OF_SM = 64
MEGAHERTZ = 1755
"""Of an H200's SMs, in which the cycles are."""
L2_BYTES = 50e6
MIXING = 3.0


@dataclass(frozen=True)
class Model:
    """Cycles that things cost. Those given are fitted (see `FITTED`)."""

    launch: float = 2000.0
    """A launch that does nothing."""
    issue: float = 1.0
    """An instruction, in its scheduler."""
    memory: float = 4.4e-4
    """A byte of memory, over the whole GPU."""
    cache: float = 2.4e-4
    """A byte of the L2 cache, over the whole GPU."""
    again: float = 0.35
    """The share of sectors that are asked for again and are no longer near the SM."""
    wavefront: float = 1.0
    """A pass over the banks, in its SM."""
    special: float = 8.0
    """A special function or conversion beyond its issue, in its scheduler."""
    tensor: float = 1 / 4096
    """An operation of tensor cores, in its SM."""
    load_latency: float = 600.0
    """What a warp waits for a load of global memory, where loads do not overlap."""
    shared_latency: float = 30.0
    """For an access of shared memory."""
    shuffle_latency: float = 25.0
    barrier_latency: float = 40.0
    special_latency: float = 20.0
    step_latency: float = 5.0
    """An instruction whose result the next one takes."""
    overlap: float = 8.0
    """Loads of a warp that are on their way at once, at most."""


FITTED = Model(
    launch=4300.0, issue=1.13, memory=4.15e-4, cache=8.56e-5, again=2.0, wavefront=1.13, special=5.36, tensor=9.2e-4,
    load_latency=124.0, shared_latency=0.0026, shuffle_latency=0.613, barrier_latency=87.3, special_latency=0.0,
    step_latency=0.0005, overlap=3.46,
)  # fmt: skip
"""Fitted to 450 programs of the 26 kernels of the benchmark, timed on an H200 on 2026-11-22: the coefficients with the least mean error of
the logarithm within a kernel. Latencies near 0 are part of other coefficients there, since all launches fill the GPU."""


@dataclass(frozen=True)
class Parts:
    """Cycles by cause."""

    launch: float
    issue: float
    memory: float
    cache: float
    shared: float
    special: float
    tensor: float
    waiting: float

    def causes(self) -> dict[str, float]:
        """All but the launch, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "launch"}

    @property
    def total(self) -> float:
        """The launch, and the norm of the causes."""
        return self.launch + sum(cycles**MIXING for cycles in self.causes().values()) ** (1 / MIXING)

    def text(self) -> str:
        """`13200 cycles: launch 2000, issue 900, memory 11000 (the longest), ...`."""
        causes = self.causes()
        longest = max(causes, key=causes.__getitem__)
        rest = [
            f"{name} {cycles:.0f}" + (" (the longest)" if name == longest else "") for name, cycles in causes.items()
        ]
        return f"{self.total:.0f} cycles: " + ", ".join([f"launch {self.launch:.0f}", *rest])


def parts(counted: Mapping[str, float], model: Model = FITTED) -> Parts:
    """What `model` makes of the metrics of a program (groups `counts` and `machine`; without `machine`, occupancy is guessed)."""
    ctas, scale = counted["programs"], counted["scale"]
    warps = max(1.0, math.ceil(counted["threads"] / 32))
    launched = ctas * scale
    used = min(launched, MULTIPROCESSORS)
    schedulers = used * SCHEDULERS if launched >= MULTIPROCESSORS else used * min(SCHEDULERS, warps)
    each = {name: counted[name] / ctas / warps for name in counted if name.startswith("mix_")}
    special = counted["mix_special"] + 0.5 * counted["mix_convert"]
    footprint = counted["footprint_bytes"]
    return Parts(
        launch=model.launch,
        issue=model.issue * (counted["instructions"] + 2 * counted["mix_double"]) * scale / schedulers,
        memory=footprint * (model.memory if footprint > L2_BYTES else model.cache),
        cache=model.cache * (footprint + model.again * max(0.0, 32 * counted["sectors"] * scale - footprint)),
        shared=model.wavefront * counted["wavefronts"] * scale / used,
        special=model.special * special * scale / schedulers,
        tensor=model.tensor * counted["tensor_flops"] * scale / used,
        waiting=_waiting(each, model) * _rounds(counted, launched, warps),
    )


def _waiting(each: Mapping[str, float], model: Model) -> float:
    """Cycles that a warp waits, from its instructions by kind."""
    loads = each["mix_global"] + each["mix_atomic"] + each["mix_async"]
    stops = 1 + each["mix_control"]
    overlap = min(model.overlap, max(1.0, loads / stops))
    return (
        model.load_latency * loads / overlap
        + model.shared_latency * each["mix_shared"]
        + model.shuffle_latency * each["mix_shuffle"]
        + model.barrier_latency * each["mix_control"]
        + model.special_latency * each["mix_special"]
        + model.step_latency * (each["mix_float"] + each["mix_integer"])
    )


def _rounds(counted: Mapping[str, float], launched: float, warps: float) -> float:
    """How often an SM starts over with as many CTAs as it holds: no whole number, since CTAs end one by one."""
    occupancy = counted.get("occupancy")
    at_once = max(1.0, round(occupancy * WARPS_OF_SM / warps)) if occupancy else max(1.0, WARPS_OF_SM // warps)
    return max(1.0, launched / (MULTIPROCESSORS * at_once))


def estimated_cycles(counted: Mapping[str, float], model: Model = FITTED) -> float:
    """Cycles of the launch that is timed. Raises `KeyError` where the counts of a run are missing."""
    return parts(counted, model).total
