"""How long a launch takes, from what was counted: a model that can be read.

    cycles = launch + the norm (of order `mixing`) of
        dispatch    CTAs of an SM, which start one after the other, and so do their warps
        issue       instructions of all warps, over the schedulers: each SM has four, and they take one instruction a cycle each
        memory      bytes of the arrays, over the bandwidth of memory; of the L2 cache where they fit into it; and what is spilled, as far
                    as the CTAs that run at once spill more than is kept near their SM
        cache       sectors that loads and stores ask for, over the bandwidth of the L2 cache: those asked for again as far as the CTAs
                    that run at once touch more than is kept near their SM
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
MEGAHERTZ = 1980
"""Of an H200's SMs under these launches, in which the cycles are."""
L2_BYTES = 50e6


@dataclass(frozen=True)
class Model:
    """Cycles that things cost, fitted to times (see `FITTED`)."""

    launch: float
    """A launch that does nothing."""
    cta: float
    """A CTA of an SM, to start."""
    warp: float
    """A warp of it, where those take longer than the CTA."""
    issue: float
    """An instruction, in its scheduler."""
    memory: float
    """A byte of memory, over the whole GPU."""
    cache: float
    """A byte of the L2 cache, over the whole GPU."""
    again: float
    """A byte asked for again and no longer near the SM, to one asked for at first."""
    partial: float
    """A byte of a sector that was asked for with another part of it, to one asked for at first."""
    near: float
    """Bytes that are kept near an SM (its L1 cache)."""
    spill: float
    """A byte spilled, to one of the arrays."""
    wavefront: float
    """A pass over the banks, in its SM."""
    special: float
    """A special function or conversion beyond its issue, in its scheduler."""
    tensor: float
    """An operation of tensor cores, in its SM."""
    load_latency: float
    """What a warp waits for a load of global memory, where loads do not overlap."""
    shared_latency: float
    """For an access of shared memory."""
    shuffle_latency: float
    barrier_latency: float
    special_latency: float
    step_latency: float
    """An instruction whose result the next one takes."""
    overlap: float
    """Loads of a warp that are on their way at once, at most."""
    mixing: float
    """The order of the norm."""


FITTED = Model(
    launch=4730.0, cta=117.0, warp=29.1, issue=1.15, memory=4.23e-4, cache=1.05e-4, again=4.3, partial=0.817, near=249e3, spill=3.18,
    wavefront=1.25, special=4.5, tensor=1.31e-3, load_latency=218.0, shared_latency=0.376, shuffle_latency=0.557, barrier_latency=16.8,
    special_latency=21.5, step_latency=0.0793, overlap=2.67, mixing=2.32,
)  # fmt: skip
"""Fitted to 450 programs of the 26 kernels of the benchmark, timed on an H200 on 2026-11-22 (`benchmarks/fit_cost_model.py`). Latencies near 0
are part of other coefficients there, since all launches fill the GPU."""


@dataclass(frozen=True)
class Parts:
    """Cycles by cause."""

    launch: float
    dispatch: float
    issue: float
    memory: float
    cache: float
    shared: float
    special: float
    tensor: float
    waiting: float
    mixing: float

    def causes(self) -> dict[str, float]:
        """What the norm is of, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("launch", "mixing")}

    @property
    def total(self) -> float:
        """The launch, and the norm of the causes."""
        norm = sum(cycles**self.mixing for cycles in self.causes().values()) ** (1 / self.mixing)
        return self.launch + norm

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
    of_sm = max(1.0, launched / MULTIPROCESSORS)
    at_once = _at_once(counted, warps)
    resident = min(at_once, math.ceil(of_sm))
    schedulers = used * SCHEDULERS if launched >= MULTIPROCESSORS else used * min(SCHEDULERS, warps)
    special = counted["mix_special"] + 0.5 * counted["mix_convert"]
    each = {name: counted[name] / ctas / warps for name in counted if name.startswith("mix_")}
    path = _waiting(each, model)
    return Parts(
        launch=model.launch,
        dispatch=max(model.cta, model.warp * warps) * of_sm,
        issue=model.issue * (counted["instructions"] + 2 * counted["mix_double"]) * scale / schedulers,
        memory=_memory(counted, model, launched, resident),
        cache=_cache(counted, model, launched, resident),
        shared=model.wavefront * counted["wavefronts"] * scale / used,
        special=model.special * special * scale / schedulers,
        tensor=model.tensor * counted["tensor_flops"] * scale / used,
        waiting=path * max(1.0, of_sm / at_once),
        mixing=model.mixing,
    )


def _at_once(counted: Mapping[str, float], warps: float) -> float:
    """CTAs that an SM holds."""
    occupancy = counted.get("occupancy")
    return max(1.0, round(occupancy * WARPS_OF_SM / warps)) if occupancy else max(1.0, WARPS_OF_SM // warps)


def _memory(counted: Mapping[str, float], model: Model, launched: float, resident: float) -> float:
    footprint = counted["footprint_bytes"]
    of_cta = counted.get("spill_bytes", 0.0) * counted["threads"]
    far = min(1.0, of_cta * resident / model.near)
    arrays = footprint * (model.memory if footprint > L2_BYTES else model.cache)
    return arrays + model.memory * model.spill * far * 2 * of_cta * launched


def _cache(counted: Mapping[str, float], model: Model, launched: float, resident: float) -> float:
    footprint = counted["footprint_bytes"]
    asked = counted["global_bytes"] * counted["scale"]
    beside = max(0.0, 32 * counted["sectors"] * counted["scale"] - asked)
    far = 1 - min(1.0, model.near / (resident * asked / launched + 1))
    return model.cache * (footprint + model.again * far * max(0.0, asked - footprint) + model.partial * beside)


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


def estimated_cycles(counted: Mapping[str, float], model: Model = FITTED) -> float:
    """Cycles of the launch that is timed. Raises `KeyError` where the counts of a run are missing."""
    return parts(counted, model).total
