"""Time on a GPU: programs of one kernel in turns, the kernel's own among them.

In: a task, its own program, and others of the store. Out: metrics of the group `time` of each, by digest.

A program's launches are recorded into a CUDA graph, as many as take `GRAPH_MICROSECONDS`, so that the time of a launch from Python
does not count. In each round every graph runs once, in another order each time, so that a clock that changes, and what a program finds
in the caches, hits all alike; `speedup` is the median over the rounds of the own program's time by the other's. Buffers stay as the
launches leave them, and as much of them in the L2 cache as fits.
"""

import ctypes
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minitriton.as_triton.testing import nvsmi
from minitriton.errors import MinitritonError
from minitriton.lab.device_memory import DeviceArguments, on_device
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.metrics import cubin_of, entry_of, threads_of
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.runtime.cuda_driver import CudaDriver, get_cuda_driver, has_gpu
from minitriton.runtime.launching.launcher import Launcher, LaunchShape
from minitriton.runtime.launching.loading import full_grid

ROUNDS = 15
GRAPH_MICROSECONDS = 300.0
MOST_LAUNCHES = 100
_OTHER_BYTES = 256 << 20
"""Five times the L2 cache of an H200."""
_WARM_LAUNCHES = 3
_RELAXED_CAPTURE = 2
_NON_BLOCKING = 1


def check_gpu() -> None:
    """Raises `MinitritonError` where there is no GPU to time on."""
    if not has_gpu():
        raise MinitritonError(
            "the metrics of group 'time' need a GPU, and there is none here",
            help="ask for cycles (the cost model), or measure the store's programs on a machine that has one: "
            "minitriton measure FILE --metrics time",
        )


@dataclass
class _Timed:
    """A program's graph of `launches` launches."""

    digest: str
    graph: ctypes.c_void_p
    launches: int
    times: list[float]
    """Microseconds of one launch, round by round."""


def time_programs(
    task: TuningTask,
    own: KernelProgram | None,
    programs: Sequence[KernelProgram],
    rounds: int = ROUNDS,
    seed: int = 0,
    *,
    cold: bool = False,
) -> dict[str, dict[str, float]]:
    """Times `programs`, and `own` next to them, in an order drawn from `seed`. A program is left out that cannot be assembled or launched.
    Processes of one machine time in turns. `cold`: single launches, each with nothing of its buffers in the L2 cache.

    Raises `MinitritonError` where there is no GPU, and for a fault on the device, after which the process can use it no more.
    """
    check_gpu()
    order = list({p.digest: p for p in [*([own] if own else []), *programs]}.values())
    if not order:
        return {}
    clock = _Clock(get_cuda_driver(), cold)
    with _turn(), on_device(clock.driver, task.timed_launch().arguments) as arguments:
        timed = [found for p in order if (found := clock.prepare(task.variant(p.settings), p, arguments)) is not None]
        rng = random.Random(seed)
        for _ in range(rounds):
            for one in rng.sample(timed, len(timed)):
                one.times.append(clock.run(one))
        clocks = _clocks()
        for one in timed:
            clock.free(one)
        clock.close()
    baseline = next((one.times for one in timed if own and one.digest == own.digest), None)
    return {one.digest: {**_summary(one.times, baseline), **clocks} for one in timed}


@contextmanager
def _turn() -> Generator[None]:
    """Waits until no other process of this user times: two at once would slow each other down."""
    import fcntl

    path = Path(tempfile.gettempdir()) / f"minitriton-timing-{os.getuid()}.lock"
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _summary(times: list[float], baseline: list[float] | None) -> dict[str, float]:
    low, middle, high = statistics.quantiles(times, n=4)
    found = {"microseconds": middle, "spread": (high - low) / middle}
    if baseline is not None:
        found["speedup"] = statistics.median(b / t for b, t in zip(baseline, times, strict=True))
    return found


def _clocks() -> dict[str, float]:
    try:
        sm, memory = nvsmi(["clocks.current.sm", "clocks.current.memory"])
    except (MinitritonError, ValueError):
        return {}
    return {"sm_mhz": sm, "memory_mhz": memory}


class _Clock:
    """Graphs and events of the driver (CUDA driver API, sections "Graph Management" and "Event Management")."""

    def __init__(self, driver: CudaDriver, cold: bool) -> None:
        self.driver, self.device = driver, driver.current_device()
        driver.set_current_device(self.device)
        self.stream = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(self.stream), ctypes.c_uint(_NON_BLOCKING))
        self._events = (ctypes.c_void_p(), ctypes.c_void_p())
        for event in self._events:
            self._call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        self._modules: dict[str, ctypes.c_void_p] = {}
        self._other = ctypes.c_uint64() if cold else None
        """What is written before each launch, so that the caches hold it alone; None where they stay as launches leave them."""
        if self._other is not None:
            self._call("cuMemAlloc_v2", ctypes.byref(self._other), ctypes.c_size_t(_OTHER_BYTES))

    def close(self) -> None:
        """Gives back what all programs share."""
        if self._other is not None:
            self._call("cuMemFree_v2", self._other)

    def _call(self, name: str, *arguments: object) -> None:
        self.driver.check(name, getattr(self.driver.library, name)(*arguments))

    def prepare(self, task: TuningTask, program: KernelProgram, arguments: DeviceArguments) -> _Timed | None:
        """The program's graph, after a few launches; None where it cannot be assembled or does not fit the device."""
        try:
            loaded = self.driver.load(entry_of(program.ptx), cubin_of(program), program.shared, self.device)
        except MinitritonError:
            return None
        options = program.options
        shape = LaunchShape(
            threads_of(program.ptx), program.shared, options.launch_cooperative_grid, getattr(options, "launch_pdl", False),
            scratch_bytes=program.global_scratch, num_ctas=options.num_ctas, parameter_slots=self.driver.parameter_slots(loaded.function),
        )  # fmt: skip
        types, values = arguments.types_and_values(program.descriptors)
        launcher = Launcher(self.driver, loaded.function, task.name, types, shape, self.device)
        grid, stream = full_grid(task.timed_grid), self.stream.value or 0
        self._modules[program.digest] = ctypes.c_void_p(loaded.module)

        def launches(count: int) -> None:
            for _ in range(count):
                launcher.launch(*grid, stream, values)

        launches(_WARM_LAUNCHES)
        self._call("cuStreamSynchronize", self.stream)
        one = self._graph(program.digest, lambda: launches(_WARM_LAUNCHES), _WARM_LAUNCHES)
        if one is None:
            self._call("cuModuleUnload", self._modules.pop(program.digest))
            return None
        each = min(self.run(one) for _ in range(2))
        self._call("cuGraphExecDestroy", one.graph)
        count = 1 if self._other is not None else max(1, min(MOST_LAUNCHES, round(GRAPH_MICROSECONDS / each)))
        return self._graph(program.digest, lambda: launches(count), count)

    def _graph(self, digest: str, record: Callable[[], None], launches: int) -> _Timed | None:
        """`launches` launches that `record` makes; None where the driver does not record such launches."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuStreamBeginCapture_v2", self.stream, ctypes.c_int(_RELAXED_CAPTURE))
        try:
            record()
            self._call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
            self._call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        except MinitritonError:
            self.driver.library.cuStreamEndCapture(self.stream, ctypes.byref(graph))
            return None
        self._call("cuGraphDestroy", graph)
        found = _Timed(digest, executable, launches, [])
        self.run(found)
        return found

    def run(self, one: _Timed) -> float:
        """Microseconds of one launch."""
        start, end = self._events
        if self._other is not None:
            self._call("cuMemsetD8Async", self._other, ctypes.c_ubyte(0), ctypes.c_size_t(_OTHER_BYTES), self.stream)
        self._call("cuEventRecord", start, self.stream)
        self._call("cuGraphLaunch", one.graph, self.stream)
        self._call("cuEventRecord", end, self.stream)
        self._call("cuEventSynchronize", end)
        milliseconds = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return 1e3 * milliseconds.value / one.launches

    def free(self, one: _Timed) -> None:
        """Gives back what a program has on the device."""
        self._call("cuGraphExecDestroy", one.graph)
        self._call("cuModuleUnload", self._modules.pop(one.digest))
