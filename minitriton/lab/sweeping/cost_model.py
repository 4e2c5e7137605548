"""How long a launch takes, from what was counted: a model that can be read.

    cycles = launch + the longest of (issue, memory, shared, special, tensor) + what waiting adds

    issue       instructions of all warps, over the schedulers                    each SM has four; one instruction a cycle each
    memory      sectors of global memory, over the bandwidth
    shared      wavefronts, over the SMs                                          one a cycle
    special     exponentials, divisions, conversions                              a quarter as many lanes
    tensor      operations of tensor cores, over their rate
    waiting     what one CTA waits for by itself (loads, barriers, exchanges), times the rounds in which the CTAs run:
                as many at once as occupancy lets

In: the metrics of groups `counts` and `machine`. Out: cycles of an SM's clock. The numbers are an H200's; `Model` holds those that were
fitted, with the date and how well they did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

MULTIPROCESSORS = 132
SCHEDULERS = 4
WARPS_OF_SM = 64
GIGAHERTZ = 1.755
"""Of an H200 under load."""


@dataclass(frozen=True)
class Model:
    """Cycles that things cost. `fit` finds them."""

    launch: float = 2500.0
    """A launch that does nothing."""
    issue: float = 1.0
    """An instruction, in its scheduler."""
    sector: float = 0.0145
    """A sector of 32 bytes: at 4.0 TB/s, 2.2 KiB a cycle of the whole GPU."""
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


FITTED = Model()


@dataclass(frozen=True)
class Parts:
    """Cycles by cause. The launch takes `launch`, the longest of the throughputs, and what waiting adds."""

    launch: float
    issue: float
    memory: float
    shared: float
    special: float
    tensor: float
    waiting: float

    @property
    def busy(self) -> float:
        """The longest of the throughputs."""
        return max(self.issue, self.memory, self.shared, self.special, self.tensor)

    @property
    def total(self) -> float:
        """Work and waiting overlap where many warps run: the root of the sum of their squares."""
        return self.launch + math.hypot(self.busy, self.waiting)

    def text(self) -> str:
        """`1200 cycles: launch 700, memory 450 (the longest), waiting 120, ...`."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        longest = max(("issue", "memory", "shared", "special", "tensor"), key=lambda name: named[name])
        rest = [
            f"{name} {cycles:.0f}" + (" (the longest)" if name == longest else "") for name, cycles in named.items()
        ]
        return f"{self.total:.0f} cycles: " + ", ".join(rest)


def parts(counted: Mapping[str, float], model: Model = FITTED) -> Parts:
    """What `model` makes of the metrics of a program (groups `counts` and `machine`; without `machine`, occupancy is guessed)."""
    ctas = counted["programs"]
    scale = counted["scale"]
    warps = max(1.0, math.ceil(counted["threads"] / 32))
    launched = ctas * scale
    used = min(launched, MULTIPROCESSORS)
    each = {name: counted[name] / ctas for name in counted if name.startswith("mix_")}

    def spread(amount: float, units: float) -> float:
        """`amount` of all CTAs over `units` of each SM that has work."""
        return amount * scale / (used * units)

    special = counted["mix_special"] + 0.5 * counted["mix_convert"]
    issued = counted["instructions"] + 2 * counted["mix_double"]
    return Parts(
        model.launch,
        model.issue * spread(issued, min(SCHEDULERS, warps)),
        model.sector * counted["sectors"] * scale,
        model.wavefront * spread(counted["wavefronts"], 1),
        model.special * spread(special, min(SCHEDULERS, warps)),
        model.tensor * spread(counted["tensor_flops"], 1),
        _waiting(each, warps, model) * _rounds(counted, launched, warps),
    )


def _waiting(each: Mapping[str, float], warps: float, model: Model) -> float:
    """Cycles that a warp of a CTA waits, from counts of one CTA."""
    return (
        model.load_latency
        * (each["mix_global"] + each["mix_atomic"] + each["mix_async"])
        / warps
        / _overlap(each, warps)
        + model.shared_latency * each["mix_shared"] / warps
        + model.shuffle_latency * each["mix_shuffle"] / warps
        + model.barrier_latency * each["mix_control"] / warps
        + model.special_latency * each["mix_special"] / warps
        + model.step_latency * (each["mix_float"] + each["mix_integer"]) / warps
    )


def _overlap(each: Mapping[str, float], warps: float) -> float:
    """Loads of a warp that are on their way at once: those between two branches or barriers, eight at most."""
    accesses, stops = each["mix_global"] / warps, 1 + each["mix_control"] / warps
    return min(8.0, max(1.0, accesses / stops))


def _rounds(counted: Mapping[str, float], launched: float, warps: float) -> float:
    """How often an SM starts over with as many CTAs as it holds."""
    occupancy = counted.get("occupancy")
    at_once = max(1.0, round(occupancy * WARPS_OF_SM / warps)) if occupancy else max(1.0, WARPS_OF_SM // warps)
    return math.ceil(launched / (MULTIPROCESSORS * at_once))


def estimated_cycles(counted: Mapping[str, float], model: Model = FITTED) -> float:
    """Cycles of the launch that is timed. Raises `KeyError` where the counts of a run are missing."""
    return parts(counted, model).total
