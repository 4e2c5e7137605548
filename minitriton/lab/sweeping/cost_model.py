"""How long a launch takes, from what was counted: a model that can be read.

    cycles = launch + the norm (of order `mixing`) of
        issue       instructions of all warps, over the schedulers: each SM has four, and they take one instruction a cycle each. Those of
                    machine code where there is no loop (a division is ten of them); what runs again counts as in PTX, since loops are
                    unrolled
        memory      bytes of the arrays, over the bandwidth of memory; of the L2 cache where they fit into it. More for parts of rows,
                    which are lines that a CTA reads in part; for what the CTAs that run at once read before the first of them stores;
                    and for what is spilled, as far as it is more than is cached near the SM
        cache       bytes of the arrays, those asked for again, and sectors that are written in parts, over the bandwidth of the L2
                    cache: again as far as the CTAs that run at once touch more than is kept near their SM
        near        lines that requests of a warp touch, asynchronous copies of few bytes, and wavefronts of shared memory, over the SMs
        special     exponentials, divisions and conversions, which have fewer lanes
        tensor      operations of tensor cores, over their rate
        waiting     what one CTA waits for by itself (loads, barriers, special functions), times the rounds in which the CTAs run: as
                    many at once as occupancy lets
    where there is less than
        dispatch    the CTAs of an SM, which start one after the other, and so do their warps
    and at the end
        last        what the last CTA waits for by itself, and the part of the last round in which SMs have nothing left to do

In: the metrics of groups `counts` and `machine`, of one program as numbers, of many as arrays. Out: cycles of an SM's clock. The norm lets
the longest cause decide and the others still count, which ranks programs whose longest cause is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from minitriton.target.architectures import H100_MULTIPROCESSORS

Amount = float | np.ndarray
"""Of one program, or of each of several."""

SCHEDULERS = 4
WARPS_OF_SM = 64
MEGAHERTZ = 1980
"""Of an H200's SMs under these launches, in which the cycles are."""
L2_BYTES = 50e6
LINE_BYTES = 128
LINE_SECTORS = 4
SECTOR_BYTES = 32

_DISPATCH_ORDER = 8.0
"""Of the norm of dispatch and the rest: the starts of CTAs are hidden by the work of those before, or all that can be seen."""


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
    partial_line: float
    """Bytes as expensive as a line of memory that a CTA reads in part."""
    ahead: float
    """A byte that CTAs read before the first of them stores, to one of the arrays."""
    partial: float
    """A byte of a sector that a CTA stores to again, to one of the L2 cache."""
    spill: float
    """A byte spilled, to one of the arrays."""
    cache: float
    """A byte of the L2 cache, over the whole GPU."""
    again: float
    """A byte asked for again and no longer near the SM, to one asked for at first."""
    near: float
    """Bytes that stay near an SM (its L1 cache)."""
    line: float
    """A line that a request touches, in its SM."""
    small_copy: float
    """An asynchronous copy of 4 or 8 bytes a lane, in its SM."""
    wavefront: float
    """A pass over the banks, in its SM."""
    special: float
    """A special function or conversion beyond its issue, in its scheduler."""
    tensor: float
    """An operation of tensor cores, in its SM."""
    load_latency: float
    """What a warp waits for a load of global memory, others outstanding as they are on average."""
    barrier_latency: float
    """For a barrier or branch, and what it waits for."""
    special_latency: float
    last: float
    """A cycle that the last CTA waits for by itself, to one of the launch."""
    uneven: float
    """A cycle of the last round without CTAs, to one with them."""
    mixing: float
    """The order of the norm."""


FITTED = Model(
    launch=290.0, cta=133.0, warp=38.6, issue=1.16, memory=4.26e-4, partial_line=72.8, ahead=0.738, partial=4.51, spill=1.92, cache=1.72e-4,
    again=1.59, near=170e3, line=0.685, small_copy=27.9, wavefront=1.38, special=5.12, tensor=8.85e-4, load_latency=53.6,
    barrier_latency=204.0, special_latency=0.0664, last=1.63, uneven=0.728, mixing=3.74,
)  # fmt: skip
"""Fitted to 450 programs of the 26 kernels of the benchmark, timed on an H200 on 2026-11-22 (`benchmarks/fit_cost_model.py --rounds 4000`,
from `KNOWN`). What a special function waits for is part of its lanes there."""

KNOWN = Model(
    launch=2000.0, cta=100.0, warp=25.0, issue=1.0, memory=4.1e-4, partial_line=32.0, ahead=0.5, partial=1.0, spill=2.0, cache=2.4e-4, again=1.0,
    near=256e3, line=1.0, small_copy=16.0, wavefront=1.0, special=7.0, tensor=4.9e-4, load_latency=100.0, barrier_latency=30.0,
    special_latency=20.0, last=1.0, uneven=0.5, mixing=3.0,
)  # fmt: skip
"""What is known without these times, and where fits begin. 4.8 TB/s of memory, 256 KB near an SM, 16 lanes of special functions and 1024
dense multiplications of halves a cycle and SM are NVIDIA's ("H100 Tensor Core GPU Architecture", and the H200's data sheet); 5.5 TB/s of
the L2 cache and latencies of tens of cycles near the SM and hundreds to memory are measured in Luo et al., "Benchmarking and Dissecting the
Nvidia Hopper GPU Architecture via Microbenchmarking" (IPDPS 2024); a tag lookup a line and cycle is what Nsight Compute's documentation of
the L1 cache says; that loads fetch 32-byte sectors and `cp.async` of 4 or 8 bytes goes through L1 like a load is in the PTX ISA. The rest is
set to no effect or a round guess."""


@dataclass(frozen=True)
class Parts:
    """Cycles by cause."""

    launch: Amount
    dispatch: Amount
    issue: Amount
    memory: Amount
    cache: Amount
    near: Amount
    special: Amount
    tensor: Amount
    waiting: Amount
    idle: Amount
    """Of what the causes come to, the share of the last round that SMs idle."""
    last: Amount
    mixing: float

    def causes(self) -> dict[str, Amount]:
        """What lasts as long as the launch, by name."""
        return {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("launch", "idle", "last", "mixing")
        }

    @property
    def total(self) -> Amount:
        """The launch, the norm of the causes, and the end."""
        causes = self.causes()
        dispatch = causes.pop("dispatch")
        norm = _norm(list(causes.values()), self.mixing)
        return self.launch + _norm([norm, dispatch], _DISPATCH_ORDER) + self.idle * norm + self.last

    def text(self) -> str:
        """Of one program: `13200 cycles: launch 2000, issue 900, memory 11000 (the longest), ...`."""
        causes = self.causes()
        longest = max(causes, key=causes.__getitem__)
        rest = [
            f"{name} {cycles:.0f}" + (" (the longest)" if name == longest else "") for name, cycles in causes.items()
        ]
        return f"{self.total:.0f} cycles: " + ", ".join([f"launch {self.launch:.0f}", *rest, f"last {self.last:.0f}"])


def _norm(cycles: list[Amount], order: float) -> Amount:
    """Of `order`, by the largest, so that no power is out of range."""
    most: Amount = 1e-9
    for one in cycles:
        most = np.maximum(most, one)
    return most * sum((one / most) ** order for one in cycles) ** (1 / order)


def parts(counted: Mapping[str, Amount], model: Model = FITTED) -> Parts:
    """What `model` makes of the metrics of a program (groups `counts` and `machine`; without `machine`, occupancy is guessed)."""
    ctas, scale = counted["programs"], counted["scale"]
    warps = np.maximum(1.0, np.ceil(counted["threads"] / 32))
    launched = ctas * scale
    used = np.minimum(launched, H100_MULTIPROCESSORS)
    of_sm = np.maximum(1.0, launched / H100_MULTIPROCESSORS)
    at_once = _at_once(counted, warps)
    resident = np.minimum(at_once, np.ceil(of_sm))
    schedulers = used * np.where(launched >= H100_MULTIPROCESSORS, SCHEDULERS, np.minimum(SCHEDULERS, warps))
    special = counted["mix_special"] + 0.5 * counted["mix_convert"]
    path = _waiting({name: counted[name] / ctas / warps for name in _WAITED_FOR}, model)
    rounds = of_sm / at_once
    whole = np.ceil(rounds - 1e-9)
    near = (
        model.line * counted["lines"]
        + model.small_copy * counted["small_copies"]
        + model.wavefront * counted["wavefronts"]
    )
    return Parts(
        launch=model.launch,
        dispatch=np.maximum(model.cta, model.warp * warps) * of_sm,
        issue=model.issue * (_issued(counted, warps) + 2 * counted["mix_double"]) * scale / schedulers,
        memory=_memory(counted, model, launched, resident),
        cache=_cache(counted, model, launched, resident),
        near=near * scale / used,
        special=model.special * special * scale / schedulers,
        tensor=model.tensor * counted["tensor_flops"] * scale / used,
        waiting=path * np.maximum(1.0, rounds),
        idle=model.uneven * np.where(rounds > 1, (whole - rounds) / np.maximum(1.0, whole), 0.0),
        last=model.last * path,
        mixing=model.mixing,
    )


def _issued(counted: Mapping[str, Amount], warps: Amount) -> Amount:
    """Instructions of all warps: what each does once as in machine code, at most twice as many as in PTX, what it repeats as in PTX."""
    of_all, text = counted["instructions"], counted.get("ptx_instructions")
    if text is None or "sass_instructions" not in counted:
        return of_all
    each = of_all / counted["programs"] / warps
    once = np.minimum(each, text)
    in_machine_code = np.minimum(counted["sass_instructions"] / text, 2.0)
    return of_all * (1 + once / each * (in_machine_code - 1))


def _at_once(counted: Mapping[str, Amount], warps: Amount) -> Amount:
    """CTAs that an SM holds."""
    occupancy = counted.get("occupancy", 1.0)
    return np.maximum(1.0, np.round(np.where(np.equal(occupancy, 0), 1.0, occupancy) * WARPS_OF_SM / warps))


def _memory(counted: Mapping[str, Amount], model: Model, launched: Amount, resident: Amount) -> Amount:
    footprint, scale = counted["footprint_bytes"], counted["scale"]
    of_cta = counted.get("spill_bytes", 0.0) * counted["threads"]
    far = np.minimum(1.0, of_cta * resident / model.near)
    partial_lines = np.maximum(0.0, counted["reached_lines"] - counted["reached_sectors"] / LINE_SECTORS) * scale
    at_once = (
        resident
        * np.minimum(launched, H100_MULTIPROCESSORS)
        * counted["read_bytes"]
        / counted["programs"]
        / counted["turns"]
    )
    ahead = np.minimum(at_once, counted["global_bytes"] * scale)
    more = (
        model.partial_line * np.where(footprint > L2_BYTES, np.minimum(partial_lines, footprint / LINE_BYTES), 0.0)
        + model.ahead * ahead
        + model.spill * far * 2 * of_cta * launched
    )
    return footprint * np.where(footprint > L2_BYTES, model.memory, model.cache) + model.memory * more


def _cache(counted: Mapping[str, Amount], model: Model, launched: Amount, resident: Amount) -> Amount:
    footprint = counted["footprint_bytes"]
    asked = counted["global_bytes"] * counted["scale"]
    far = 1 - np.minimum(1.0, model.near / (resident * asked / launched + 1))
    again = model.again * far * np.maximum(0.0, asked - footprint)
    rewritten = model.partial * SECTOR_BYTES * counted["written_again"] * counted["scale"]
    return model.cache * (footprint + again + rewritten)


_WAITED_FOR = ("read_requests", "mix_atomic", "mix_control", "mix_special")


def _waiting(each: Mapping[str, Amount], model: Model) -> Amount:
    """Cycles that a warp waits, from what it does; nothing waits for stores."""
    return (
        model.load_latency * (each["read_requests"] + each["mix_atomic"])
        + model.barrier_latency * each["mix_control"]
        + model.special_latency * each["mix_special"]
    )


def estimated_cycles(counted: Mapping[str, float], model: Model = FITTED) -> float:
    """Cycles of the launch that is timed. Raises `KeyError` where the counts of a run are missing."""
    return float(parts(counted, model).total)
