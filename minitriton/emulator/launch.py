"""Launching a kernel on the emulator: arguments in, batches of CTAs run, results out.

report = run(ptx, "vector_add", (4,), [x, y, out, 4000], shared_bytes=0)     writes into `out`
"""

import functools
import operator
from collections.abc import Sequence

import numpy as np

from minitriton.emulator.kernel_arguments import Binding, Value
from minitriton.emulator.machine import Endless, Machine, Polling
from minitriton.emulator.memory.access_cost import Reach
from minitriton.emulator.memory.device import GlobalMemory, Trace
from minitriton.emulator.memory.device_shadow import Rerun
from minitriton.emulator.ptx.parser import parse
from minitriton.emulator.ptx.program import EmulationError, Module, check_threads
from minitriton.emulator.report import Report
from minitriton.emulator.translate import TranslatedKernel, translate
from minitriton.emulator.warp_trace import WarpTrace
from minitriton.host.interrupts import Deadline
from minitriton.host.locks import finished_before_forks
from minitriton.target.architectures import H100_MULTIPROCESSORS, LIMITS, WARP_SIZE

LANES_AT_ONCE = 8192
"""Threads run concurrently: enough to hide Python's cost an instruction, few enough to stay in the cache."""
SHADOW_AT_ONCE = 64 << 20
"""Bytes of race shadow that a batch of CTAs may take."""
POLLS_OF_A_BATCH = 200
"""Atomics in a row that change nothing, before the CTAs of a batch are taken to wait for those of a later one."""
MOST_SHARED = 1 << 20
"""Bytes: more than any GPU has."""
THREADS_OF_A_GPU = H100_MULTIPROCESSORS * LIMITS.warps_per_sm * WARP_SIZE
"""Threads that an H100 runs at once: programs of a larger grid cannot wait for each other."""


@functools.lru_cache(maxsize=64)
def parse_cached(ptx: str) -> Module:
    """`parse`, remembering recent texts."""
    return parse(ptx)


def run(
    ptx: str | Module,
    kernel: str | None,
    grid: Sequence[int],
    args: Sequence[Value],
    shared_bytes: int = 0,
    *,
    check: bool = True,
    names: Sequence[str] = (),
    resident: bool = False,
    scratch: int = 0,
    seconds: float = 0.0,
    programs: int = 0,
    reach: bool = False,
    traced: bool = False,
    reachable: Sequence[np.ndarray] | None = None,
    fences_by_author: bool = False,
    trace: Trace | None = None,
) -> Report:
    """Runs `kernel` (None: the only one) of a PTX text on the CPU and returns what was found and counted.

    `args` are NumPy arrays, which become device memory and receive results, `MappedArray`s, and numbers, in the order of the kernel's
    parameters; pointers left out at the end, such as Triton's global scratch, get `scratch` bytes each, or are an error if the kernel reads them.
    `shared_bytes` is the dynamic shared memory of a
    CTA. Without `check` only out-of-bounds and misaligned accesses are found, and nothing is counted. `names` are what
    findings call the arguments. `resident` CTAs run concurrently, all of them, as a cooperative launch has it. A launch that is not at its end after `seconds`
    (0: however long it takes), or never will be, ends there with the finding `endless`. Of a larger grid only `programs` CTAs run if that is not 0,
    spread evenly: for what a launch costs (`Report.share`); what the others would have stored is missing. All run if some wait for others.
    With `reach` the report says what of global memory each CTA reads and writes, too, `traced` what each warp of the first one executed. Words of 8 bytes among the arguments, and in arrays of
    such integers, may be addresses of arguments or of `reachable` arrays, unless that is None. `fences_by_author`: data of `cp.async` needs a fence before
    `wgmma` or a bulk copy reads it, as the PTX ISA has it: of kernels in Gluon, whose authors write fences. Compilers of `tl` leave that one out.
    `trace` notes what each instruction does to global memory (`poison`).
    """
    module = _module(ptx)
    extents = extents_of(grid)
    if not hasattr(shared_bytes, "__index__") or not 0 <= shared_bytes <= MOST_SHARED:
        raise EmulationError(f"shared_bytes is a number of bytes from 0 to {MOST_SHARED}, not {shared_bytes!r}")
    deadline = Deadline(seconds)
    while True:
        try:
            return _launch(
                module,
                kernel,
                extents,
                args,
                shared_bytes,
                check,
                names,
                resident,
                scratch,
                deadline,
                programs,
                reach,
                traced,
                reachable,
                fences_by_author,
                trace,
            )
        except Polling:
            # What is waited for may be the work of a CTA of a later batch, or of one left out; on a GPU both may run at once.
            resident, programs = resident or not programs, 0
        except Rerun:
            pass


def _module(ptx: object) -> Module:
    if isinstance(ptx, str):
        return parse_cached(ptx)
    if not isinstance(ptx, Module):
        raise EmulationError(f"PTX is a text, not a {type(ptx).__name__}")
    return ptx


def extents_of(grid: Sequence[int]) -> tuple[int, int, int]:
    """A grid in three dimensions."""
    try:
        extents = [operator.index(n) for n in grid]
    except TypeError:
        extents = []
    if not 1 <= len(extents) <= 3 or min(extents) < 0:
        raise EmulationError(f"a grid is 1 to 3 numbers of programs, not {grid!r}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _launch(
    module: Module,
    kernel: str | None,
    grid: tuple[int, int, int],
    args: Sequence[Value],
    shared_bytes: int,
    check: bool,
    names: Sequence[str],
    resident: bool,
    scratch: int,
    deadline: Deadline,
    programs: int,
    reach: bool,
    traced: bool,
    reachable: Sequence[np.ndarray] | None,
    fences_by_author: bool,
    trace: Trace | None,
) -> Report:
    """One attempt. Leaves the arguments as they were and raises `Polling` where CTAs wait that are not all `resident`, `Rerun`
    where the program then knows of more arrays whose reads are to be followed."""
    name = kernel or next(iter(module.kernels), "")
    if name not in module.kernels:
        raise EmulationError(f"the PTX lacks kernel `{name}`; it has {', '.join(module.kernels) or 'none'}")
    entry = module.kernels[name]
    check_threads(entry)
    with finished_before_forks():
        program = translate(entry, module.variables, check)
    memory = GlobalMemory()
    memory.trace = trace
    if trace is not None:
        trace.seen.clear()
    parameters = Binding(module.text, entry, args, names, scratch, reachable).lay_out(memory)
    symbols: dict[str, int] = {p.name: p.offset for p in entry.parameters}
    for variable in [*module.variables.values(), *entry.variables]:
        if variable.space in ("global", "const"):
            data = np.frombuffer(bytearray(variable.data or bytes(variable.size)), np.uint8)
            symbols[variable.name] = memory.add(variable.size, variable.name, data, 1)
    memory.freeze()
    if check:
        granule = min(program.global_granule, memory.item) if program.copies_elements else program.global_granule
        group_lanes = -(-int(np.prod(entry.threads)) // WARP_SIZE) * WARP_SIZE * int(np.prod(entry.cluster))
        memory.follow(granule, program.followed, group_lanes)
    report = Report(entry, grid)
    report.reach = Reach() if reach else None
    report.trace = WarpTrace() if traced else None
    report.warps = np.zeros(len(entry.instructions), np.int64)
    report.threads = np.zeros(len(entry.instructions), np.int64)
    total = int(np.prod(report.grid))
    order = _cluster_order(report.grid, entry.cluster)
    fits = total * int(np.prod(entry.threads)) <= THREADS_OF_A_GPU
    is_part = not resident and 0 < programs < total
    if is_part:
        order = spread(np.arange(total) if order is None else order, programs, int(np.prod(entry.cluster)))
        report.share = len(order) / total
        total = len(order)
    batch = max(total, 1) if resident else _batch(program, shared_bytes, check)
    with np.errstate(all="ignore"):
        for first in range(0, total, batch):
            count = min(batch, total - first)
            state = (
                program, memory, parameters, symbols, report.grid, first, count, shared_bytes, report, check, order,
            )  # fmt: skip
            machine = Machine(*state)
            machine.deadline = deadline
            if machine.shared.proxies is not None:
                machine.shared.proxies.fences_copies = fences_by_author
            may_fit = fits and (count < total or is_part)
            if may_fit:
                machine.patience = POLLS_OF_A_BATCH
            try:
                machine.run()
            except Rerun as again:
                program.followed |= again.allocations
                raise
            except Endless as found:
                report.add("endless", found.instruction, found.text)
                break
            except Polling as waiting:
                if may_fit or is_part:
                    raise
                report.add("deadlock", waiting.instruction, "threads wait for memory that nothing changes")
                break
    if report.reach is not None:
        report.reach.finish()
    memory.write_back()
    return report


def _batch(program: TranslatedKernel, shared_bytes: int, check: bool) -> int:
    """CTAs to run at once: whole clusters."""
    threads = int(np.prod(program.kernel.threads))
    cluster = int(np.prod(program.kernel.cluster))
    batch = max(1, LANES_AT_ONCE // threads)
    if check:
        granules = (program.static_shared + shared_bytes) // program.shared_granule
        each = granules * (24 + 8 * max(1, threads // WARP_SIZE) * cluster)
        batch = min(batch, max(1, SHADOW_AT_ONCE // max(each, 1)))
    return max(1, batch // cluster) * cluster


def spread(order: np.ndarray, programs: int, cluster: int) -> np.ndarray:
    """Of CTAs in the order of `order`, the first and the last and others at equal distances: `programs`, in whole clusters."""
    clusters = order.reshape(-1, cluster)
    wanted = max(1, programs // cluster)
    return clusters[np.unique(np.linspace(0, len(clusters) - 1, wanted).astype(np.int64))].ravel()


def _cluster_order(grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> np.ndarray | None:
    """Numbers of the CTAs of a grid, those of a cluster together in the order of their ranks; None without clusters."""
    if cluster == (1, 1, 1):
        return None
    if any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise EmulationError(f"the grid {grid} is not a multiple of the cluster {cluster}")
    (gx, gy, gz), (cx, cy, cz) = grid, cluster
    numbers = np.arange(gx * gy * gz).reshape(gz // cz, cz, gy // cy, cy, gx // cx, cx)
    return numbers.transpose(0, 2, 4, 1, 3, 5).ravel()
