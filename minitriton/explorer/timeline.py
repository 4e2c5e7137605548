"""A timeline of the warps of one CTA: what the emulator saw each execute, replayed by a model of an SM's time.

timeline(report, capability, locations)["cycles"]        5120
    ["warps"][0][3]        [812, 1040, "copies", 17]     waits from cycle 812 to 1040 for a copy, at line 17 of `lines`
    ["flights"][0]         a group of copies, or of dots: from its first issue until all of it is there

The model: a scheduler issues an instruction a cycle for its warps (warp number modulo 4), in the order of the PTX, once the registers that it reads
are there; moves between registers and reads of parameters are free. Copies and loads go through one pipe of the bandwidth of L2 or of memory, then take its
latency; dots keep the tensor cores as long as their operations take; shared memory gives a pass over its banks a cycle. Speeds are those of `target/architectures.py`.
It is no measurement: `ptxas` schedules instructions anew, and other CTAs share the SM. It shows what waits for what.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from minitriton.emulator.ptx.control_flow import results_of, uses_of
from minitriton.emulator.ptx.program import Immediate, Instruction
from minitriton.emulator.report import Report
from minitriton.emulator.warp_trace import Executed
from minitriton.errors import MinitritonError
from minitriton.explorer.wire import FlightJson, TimelineJson
from minitriton.target.architectures import H100_MULTIPROCESSORS, speeds_of

Kind = Literal["issue", "copies", "dots", "barrier", "loads", "shared", "other"]
Data = Literal["l2", "memory"]

SCHEDULERS = 4
BARRIER = 20
"""Cycles from the last arrival at a barrier until the warps go on."""
SHORT = 16
"""Cycles between two instructions of a line that are shown as one segment of work."""
MOST_SEGMENTS = 6000
"""Of a warp."""
_DOT_LATENCY = 18
_ARITHMETIC = 4
_SPECIAL = ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div.full", "div.approx")
_FREE = (
    "mov", "ld.param", "cvta", "bra", "ret", "exit", "wgmma.fence", "cp.async.bulk.commit_group", "mbarrier.init",
    "mbarrier.inval", "fence",
)  # fmt: skip
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f64": 64}


@dataclass
class _Flight:
    """A group of copies or of dots."""

    kind: str
    start: float
    end: float
    amount: float
    line: int


@dataclass
class _Warp:
    at: float = 0.0
    next: int = 0
    ready: dict[int, tuple[float, Kind]] = field(default_factory=dict[int, tuple[float, Kind]])
    groups: dict[str, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0]))
    """By kind of group: when each that was committed is complete; the last one is open."""
    segments: list[tuple[float, float, Kind, int]] = field(default_factory=list[tuple[float, float, Kind, int]])


def timeline(
    report: Report, capability: int, locations: Mapping[int, tuple[int, int]], data: Data = "l2"
) -> TimelineJson:
    """The timeline of a run that was traced. `locations`: by line of the PTX the file's number and the line of the kernel."""
    if report.trace is None or not any(report.trace.streams):
        raise MinitritonError("nothing was traced of this run", help="timelines are of PTX")
    model = _Model(report, capability, data)
    model.run()
    return model.plain(locations)


class _Model:
    def __init__(self, report: Report, capability: int, data: Data) -> None:
        assert report.trace is not None
        self.report, self.streams, self.data = report, report.trace.streams, data
        self.speeds = speeds_of(capability)
        self.latency, self.bandwidth = (
            (self.speeds.l2_latency, self.speeds.l2_bytes_per_sm)
            if data == "l2"
            else (self.speeds.memory_latency, self.speeds.memory_bytes / H100_MULTIPROCESSORS)
        )
        self.warps = [_Warp() for _ in self.streams]
        self.scheduler, self.tensor, self.special = ([0.0] * SCHEDULERS for _ in range(3))
        self.pipe = self.banks = 0.0
        self.busy: dict[str, float] = defaultdict(float)
        self.flights: dict[tuple[object, ...], _Flight] = {}
        self.missing = Counter((e.barrier, e.phase) for s in self.streams for e in s if _arrives(e.instruction))
        """By phase of an mbarrier: the arrivals and copies that it lacks."""
        self.over: dict[tuple[int, int], float] = defaultdict(float)
        self.waiting: dict[object, list[tuple[int, Kind, int]]] = defaultdict(list)
        """Warps by what they wait for."""
        self.arrived: dict[int, tuple[int, float]] = {}
        """By barrier of the CTA: the threads that have arrived, and when the last did."""
        self.heap = [(0.0, number) for number in range(len(self.warps))]

    def run(self) -> None:
        """Replays all warps, the one that can go on first at a time."""
        while self.heap or self.waiting:
            if not self.heap:
                # The trace ends early, or what is waited for is of another CTA of the cluster.
                now = max(warp.at for warp in self.warps)
                for key in list(self.waiting):
                    self._release(key, now)
            time, number = heapq.heappop(self.heap)
            warp, stream = self.warps[number], self.streams[number]
            if warp.next == len(stream):
                continue
            one = stream[warp.next]
            start, why = self._start(warp, number, one.instruction)
            if start > time and self.heap and self.heap[0][0] < start:
                heapq.heappush(self.heap, (start, number))
                continue
            warp.next += 1
            if self._issue(warp, number, one, start, why):
                heapq.heappush(self.heap, (warp.at, number))

    def _start(self, warp: _Warp, number: int, instruction: Instruction) -> tuple[float, Kind]:
        """When an instruction can be issued, and what for it waits until then."""
        start, why = max(warp.at, self.scheduler[number % SCHEDULERS]), "other"
        for register in uses_of(instruction):
            time, kind = warp.ready.get(register.index, (0.0, "other"))
            if time > start:
                start, why = time, kind
        return start, why

    def _issue(self, warp: _Warp, number: int, one: Executed, start: float, why: Kind) -> bool:
        """Issues one instruction. False where its warp then waits for others."""
        i, opcode = one.instruction, one.instruction.opcode
        self._segment(warp, warp.at, start, why, i.line)
        end = start if opcode.startswith(_FREE) else start + 1
        if end > start:
            self.scheduler[number % SCHEDULERS] = end
            self._segment(warp, start, end, "issue", i.line)
        warp.at = end
        done, kind = self._done(warp, number, one, end)
        for register in results_of(i):
            if not opcode.startswith("wgmma"):
                warp.ready[register.index] = done, kind
        return self._waits(warp, number, one)

    def _done(self, warp: _Warp, number: int, one: Executed, now: float) -> tuple[float, Kind]:
        """When the result of an instruction is there, and what who waits for it waits for."""
        i, opcode, core = one.instruction, one.instruction.opcode, number % SCHEDULERS
        if opcode.startswith(("mma.", "wgmma.mma_async")):
            took = _operations(opcode) * SCHEDULERS / self._tensor_speed(opcode)
            begun = max(now, self.tensor[core])
            self.tensor[core] = begun + took
            self.busy["tensor"] += took / SCHEDULERS
            end = begun + took + _DOT_LATENCY
            groups = warp.groups["wgmma"]
            is_async = opcode.startswith("wgmma")
            if is_async:
                groups[-1] = max(groups[-1], end)
            self._fly(
                ("dots", number // 4 if is_async else core, len(groups) if is_async else int(begun) // 64),
                "dots",
                now,
                end,
                1,
                i.line,
            )
            return end, "dots"
        if opcode.startswith(("cp.async", "cp.reduce")) and one.bytes:
            end = self._move(one.bytes, now)
            group = "bulk" if "bulk" in opcode else "cp.async"
            if one.barrier >= 0:
                self._arrive((one.barrier, one.phase), end)
                key: tuple[object, ...] = ("mbarrier", one.barrier, one.phase)
            else:
                warp.groups[group][-1] = max(warp.groups[group][-1], end)
                key = (group, len(warp.groups[group]), number if group == "bulk" else 0)
            self._fly(key, "stores" if ".global.shared" in opcode else "copies", now, end, one.bytes, i.line)
        elif opcode.startswith(("ld.global", "ld.volatile.global", "ld.acquire", "ld.relaxed", "atom.")):
            end = self._move(self._bytes(i), now)
            self._fly(("loads", int(now) // 256), "loads", now, end, self._bytes(i), i.line)
            return end, "loads"
        elif opcode.startswith(("st.global", "red.")):
            self._move(self._bytes(i), now)
        elif (".shared" in opcode and opcode.startswith(("ld", "st"))) or opcode.startswith("shfl"):
            traffic = self.report.traffic.get(i.index)
            self.banks = max(now, self.banks) + (
                traffic.wavefronts / traffic.requests if traffic and traffic.requests else 1.0
            )
            return self.banks + self.speeds.shared_latency, "shared"
        elif opcode.startswith(_SPECIAL):
            begun = max(now, self.special[core])
            self.special[core] = begun + 32 * SCHEDULERS / self.speeds.special
            return self.special[core] + _ARITHMETIC, "other"
        elif "mbarrier.arrive" in opcode or opcode.startswith("mbarrier.expect"):
            if _arrives(i):
                self._arrive(
                    (one.barrier, one.phase), max([now, *warp.groups["cp.async"]]) if opcode.startswith("cp.") else now
                )
        elif "commit_group" in opcode:
            warp.groups[_group_of(opcode)].append(0.0)
        return now + _ARITHMETIC, "other"

    def _waits(self, warp: _Warp, number: int, one: Executed) -> bool:
        """Lets a warp wait where the instruction does. False where others decide until when."""
        i, opcode = one.instruction, one.instruction.opcode
        if "wait_group" in opcode or opcode.startswith("cp.async.wait_all"):
            allowed = i.operands[0].value if i.operands and isinstance(i.operands[0], Immediate) else 0
            group = _group_of(opcode)
            groups = warp.groups[group]
            until = max(groups[: len(groups) - 1 - int(allowed)], default=0.0)
            if ".read" in opcode:
                # The data have left shared memory when the pipe has taken them.
                until -= self.latency
            self._segment(warp, warp.at, until, "dots" if group == "wgmma" else "copies", i.line)
            warp.at = max(warp.at, until)
        elif opcode.startswith(("mbarrier.try_wait", "mbarrier.test_wait")) and one.phase >= 0:
            key = one.barrier, one.phase
            if self.missing[key] > 0:
                self.waiting[key].append((number, "copies", i.line))
                return False
            self._segment(warp, warp.at, self.over[key], "copies", i.line)
            warp.at = max(warp.at, self.over[key])
        elif opcode.startswith(("bar.", "barrier.")) and one.expected:
            threads, last = self.arrived.get(one.barrier, (0, 0.0))
            threads, last = threads + 32, max(last, warp.at)
            self.arrived[one.barrier] = threads, last
            is_sync = "arrive" not in opcode
            if is_sync:
                self.waiting[one.barrier].append((number, "barrier", i.line))
            if threads >= one.expected:
                del self.arrived[one.barrier]
                self._release(one.barrier, last + BARRIER)
            return not is_sync
        return True

    def _arrive(self, key: tuple[int, int], time: float) -> None:
        self.missing[key] -= 1
        self.over[key] = max(self.over[key], time)
        if self.missing[key] <= 0:
            self._release(key, self.over[key])

    def _release(self, key: object, time: float) -> None:
        for number, kind, line in self.waiting.pop(key, ()):
            warp = self.warps[number]
            self._segment(warp, warp.at, time, kind, line)
            warp.at = max(warp.at, time)
            heapq.heappush(self.heap, (warp.at, number))

    def _move(self, bytes_: float, now: float) -> float:
        """Sends bytes through the pipe to memory: when they are there."""
        took = bytes_ / self.bandwidth
        self.pipe = max(self.pipe, now) + took
        self.busy["pipe"] += took
        return self.pipe + self.latency

    def _bytes(self, instruction: Instruction) -> float:
        traffic = self.report.traffic.get(instruction.index)
        return 32.0 * traffic.sectors / traffic.requests if traffic and traffic.requests else 32.0

    def _tensor_speed(self, opcode: str) -> float:
        kind = "wgmma" if opcode.startswith("wgmma") else "mma.sync"
        return self.speeds.tensor_flops(kind, next((_BITS[p] for p in reversed(opcode.split(".")) if p in _BITS), 16))

    def _fly(self, key: tuple[object, ...], kind: str, start: float, end: float, amount: float, line: int) -> None:
        found = self.flights.get(key)
        if found is None:
            self.flights[key] = _Flight(kind, start, end, amount, line)
        else:
            found.start, found.end, found.amount = min(found.start, start), max(found.end, end), found.amount + amount

    def _segment(self, warp: _Warp, start: float, end: float, kind: Kind, line: int) -> None:
        if end <= start:
            return
        last = warp.segments[-1] if warp.segments else None
        if (
            last is not None
            and last[2] == "issue"
            and ((kind == "issue" and last[3] == line) or (kind == "other" and end - start <= SHORT))
        ):
            warp.segments[-1] = last[0], end, "issue", last[3]
        elif last is not None and last[2] == kind and last[3] == line:
            warp.segments[-1] = last[0], end, kind, line
        else:
            warp.segments.append((start, end, kind, line))

    def plain(self, locations: Mapping[int, tuple[int, int]]) -> TimelineJson:
        """As JSON can hold it."""
        cycles = max(warp.at for warp in self.warps)
        lines: dict[int, int] = {}
        waits: dict[tuple[str, int, int], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)
        warps: list[list[list[int | str]]] = []
        for warp in self.warps:
            shown: list[list[int | str]] = []
            for start, end, kind, line in _by_source(warp.segments, locations):
                totals[kind] += end - start
                if kind not in ("issue", "other") and (location := locations.get(line)):
                    waits[kind, *location] += end - start
                shown.append([round(start), round(end), kind, lines.setdefault(line, len(lines))])
            warps.append(shown[:MOST_SEGMENTS])
        flights: list[FlightJson] = [
            {
                "kind": one.kind,
                "start": round(one.start),
                "end": round(one.end),
                "amount": round(one.amount),
                "line": lines.setdefault(one.line, len(lines)),
            }
            for one in sorted(self.flights.values(), key=lambda one: one.start)
        ]
        count = len(self.warps)
        return {
            "cycles": round(cycles), "data": self.data, "warps": warps, "flights": flights,
            "lines": [[line, *locations.get(line, (-1, 0))] for line in lines],
            "shares": {kind: round(total / count / max(cycles, 1), 4) for kind, total in sorted(totals.items(), key=lambda one: -one[1])},
            "busy": {unit: min(1.0, round(took / max(cycles, 1), 4)) for unit, took in self.busy.items()},
            "waits": [[kind, file, line, round(took / count)] for (kind, file, line), took in sorted(waits.items(), key=lambda one: -one[1])[:12]],
            "is_partial": self.report.trace is not None and self.report.trace.is_partial,
        }  # fmt: skip


def _by_source(
    segments: list[tuple[float, float, Kind, int]], locations: Mapping[int, tuple[int, int]]
) -> list[tuple[float, float, Kind, int]]:
    """`segments` with work on one line of the kernel as one, which short waits do not part."""
    found: list[tuple[float, float, Kind, int]] = []
    for one in segments:
        last = found[-1] if found else None
        is_one = (
            last is not None
            and last[2] == one[2]
            and one[0] - last[1] <= SHORT
            and locations.get(last[3]) == locations.get(one[3])
        )
        if last is not None and is_one:
            found[-1] = last[0], one[1], last[2], last[3]
        else:
            found.append(one)
    return found


def _arrives(instruction: Instruction) -> bool:
    """Whether an instruction counts for the phase of an mbarrier."""
    opcode = instruction.opcode
    return "mbarrier.arrive" in opcode or "mbarrier::complete_tx" in opcode


def _group_of(opcode: str) -> str:
    return "wgmma" if opcode.startswith("wgmma") else "bulk" if "bulk" in opcode else "cp.async"


def _operations(opcode: str) -> float:
    """Floating-point operations of one warp's part of a dot."""
    shape = re.search(r"m(\d+)n(\d+)k(\d+)", opcode)
    if shape is None:
        return 0.0
    m, n, k = map(int, shape.groups())
    return 2.0 * m * n * k / (4 if opcode.startswith("wgmma") else 1)
