"""`ttg.warp_specialize`: warps beyond the kernel's own wait for work and run the partitions next to the default region.

    default warps                                     other warps
    -------------                                     -----------
    a byte for each other warp: its partition         wait: bar 1
    captures to shared memory                         read the byte, go to that partition
    bar 1                                             read the captures
    bar 1                                             bar 1
    the default region                                the partition
    bar 1                                             bar 1, back to waiting

Before the kernel's return the byte says that there is no more work. `named_barriers` says which barrier is for whom; threads of a
partition count from 0. With `actualRegisters` the warps hand registers to each other by
`setmaxnreg` (PTX ISA).

Counterpart of third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/ConvertWarpSpecializeToLLVM.cpp.
"""

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering, WorkerWarps
from minitriton.codegen.nvidia import lowers, require
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I1, I8, I32
from minitriton.dialects import nvvm
from minitriton.dialects.facts.synchronization import ALL_WARPS, PARTITIONS
from minitriton.dialects.fast_paths.op_access import last_op_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg import LocalAllocOp, WarpSpecializeOp
from minitriton.errors import LoweringError

_MOST_REGISTERS = 256
_FEWEST_REGISTERS = 24
_NO_PARTITION = 255


def workers_of(f: FunctionLowering, kernel: Operation) -> WorkerWarps | None:
    """The workers of `kernel`; None if it specializes no warps."""
    attributes = f.module.module.attributes
    total = attributes.get("ttg.total-num-warps")
    if not instance_of(total, IntegerAttr) or total.value.data <= f.num_warps:
        return None
    if not any(isinstance(op, WarpSpecializeOp) for op in kernel.walk()):
        return None
    limit = attributes.get("ttg.maxnreg")
    registers = None
    if instance_of(limit, IntegerAttr):
        registers = _registers(limit.value.data, f.num_warps, total.value.data - f.num_warps)
    return WorkerWarps(kernel, f.num_warps, total.value.data, registers)


def _registers(start: int, default_warps: int, waiting: int) -> tuple[int, int, int]:
    """Those that wait keep few registers; the default warps take as many of the others as a thread can have."""
    low = _FEWEST_REGISTERS
    default = (start + (start - low) * waiting // default_warps) // 8 * 8
    if default > _MOST_REGISTERS:
        default = _MOST_REGISTERS
        low = (start - (default - start) * default_warps // waiting) // 8 * 8
    return start, default, low


def _set_registers(f: FunctionLowering, now: int, then: int) -> None:
    now, then = min(now, _MOST_REGISTERS), min(then, _MOST_REGISTERS)
    f.b.operation(
        nvvm.SetMaxRegisterOp,
        (),
        (),
        {"count": IntegerAttr(then, 32), "action": StringAttr("dec" if then < now else "inc")},
    )


def _barrier_of_all(f: FunctionLowering, workers: WorkerWarps) -> None:
    threads = IntegerAttr(workers.total_warps << f.module.lane_bits, 32)
    number = IntegerAttr(ALL_WARPS, 32)
    properties = {"barrier_id": number, "number_of_threads": threads, "divergent": UnitAttr()}
    f.b.operation(nvvm.BarrierOp, (), (), properties)


def _tell_workers(f: FunctionLowering, workers: WorkerWarps, numbers: list[int]) -> None:
    """The default threads write the number of its partition for each warp that waits, four numbers at a time: the same from each thread."""
    base = f.scratch(workers.kernel)
    always = f.b.constant(I1, 1)
    start = 0
    while start < len(numbers):
        size, type_ = (4, I32) if start + 4 <= len(numbers) else (1, I8)
        value = int.from_bytes(numbers[start : start + size], "little", signed=True)
        f.b.operation(nvvm.StoreSharedOp, (f.b.constant(type_, value), f.b.gep(base, start, I8), always), ())
        start += size


@lowers(WarpSpecializeOp)
def warp_specialize(f: FunctionLowering, op: WarpSpecializeOp) -> None:
    assert isinstance(op, WarpSpecializeOp)
    workers = f.workers
    if workers is None or op.warp_group_start_ids is None:
        raise f.unsupported(
            op, "its partitions lack warps", help="run tritongpu-allocate-warp-groups first, in a kernel"
        )
    starts = [int(n) for n in op.warp_group_start_ids.get_values()]
    numbers = [_NO_PARTITION] * workers.waiting
    first = len(workers.entries)
    for index, (start, count) in enumerate(zip(starts, op.num_warps_of_partitions, strict=True)):
        for warp in range(start, start + count):
            numbers[warp - workers.default_warps] = first + index
    actual = None if op.actual_registers is None else [int(n) for n in op.actual_registers.get_values()]
    if actual is not None and workers.registers is not None:
        require(f, op, "has_tma")  # setmaxnreg
    through_memory = _send_captures(f, op)
    _tell_workers(f, workers, numbers)
    _barrier_of_all(f, workers)
    if actual is not None and workers.registers is not None:
        _set_registers(f, workers.registers[1], actual[0])
    _barrier_of_all(f, workers)
    after = f.b.block
    for index, region in enumerate(op.partition_regions):
        _partition(f, op, index, region.block, through_memory, workers, None if actual is None else actual[index + 1])
    f.b.move_to(after)
    block = op.default_region.block
    last = last_op_of(block)
    f.lower_ops([inner for inner in block.ops if inner is not last])
    f.b.location = last.location
    _barrier_of_all(f, workers)
    if actual is not None and workers.registers is not None:
        _set_registers(f, actual[0], workers.registers[1])
    for result, value in zip(op.results, last.operands, strict=True):
        f.values[result] = f.values[value]


def _send_captures(f: FunctionLowering, op: WarpSpecializeOp) -> dict[int, tuple[int, Attribute]]:
    """Writes captures to shared memory; for each where it is and its type.

    Arguments of the kernel, constants and whole buffers need not be written: every warp knows them.
    """
    base = f.scratch(op) if op.operands else None
    first = f.is_first_thread()
    captured: dict[int, tuple[int, Attribute]] = {}
    position = 0
    for index, capture in enumerate(op.operands):
        value = f.values[capture]
        if instance_of(capture.type, TensorType):
            raise f.unsupported(op, "captures a tensor", help="put it into shared memory and capture the buffer")
        if _is_known_everywhere(f, value) or _allocation_of(capture) is not None:
            continue
        register = value.base if isinstance(value, SharedView) else value
        assert instance_of(register, SSAValue) and base is not None
        captured[index] = (position, register.type)
        address = f.b.gep(base, position, I8)
        f.b.operation(nvvm.StoreSharedOp, (register, address, first), ())
        position += 8
    return captured


def _is_known_everywhere(f: FunctionLowering, value: object) -> bool:
    """Whether `value` is made in the prologue, which all warps run."""
    if isinstance(value, BlockArgument):
        return value.block is f.b.prologue
    return isinstance(value, OpResult) and value.op.parent is f.b.prologue


def _allocation_of(capture: SSAValue) -> Operation | None:
    """The op that allocates the buffer that `capture` is."""
    owner = capture.owner
    return owner if isinstance(owner, LocalAllocOp) else None


def _partition(
    f: FunctionLowering,
    op: WarpSpecializeOp,
    index: int,
    block: Block,
    captured: dict[int, tuple[int, Attribute]],
    workers: WorkerWarps,
    registers: int | None,
) -> None:
    """The code of one partition, in blocks of its own."""
    if index >= len(PARTITIONS):
        raise f.unsupported(op, f"has more than {len(PARTITIONS)} partitions, one barrier each")
    barrier = PARTITIONS[index]
    assert op.warp_group_start_ids is not None
    prologue, body = f.new_block(), f.new_block()
    count = op.num_warps_of_partitions[index]
    p = FunctionLowering(f.module, prologue, body, num_warps=count)
    p.global_scratch, p.is_kernel = f.global_scratch, True
    p.own_barrier = (barrier, count << f.module.lane_bits)
    start = int(list(op.warp_group_start_ids.get_values())[index])
    p.b.location = op.location
    with p.b.in_prologue():
        if registers is not None and workers.registers is not None:
            _set_registers(p, workers.registers[2], registers)
        p.start_at(start)
        always = p.b.constant(I1, 1)
        for number, (argument, capture) in enumerate(zip(block.args, op.operands, strict=True)):
            value = f.values[capture]
            allocation = _allocation_of(capture)
            if allocation is not None:
                value = SharedView(p.scratch(allocation), value.offsets)
            elif number in captured:
                position, type_ = captured[number]
                address = p.b.gep(p.scratch(op), position, I8)
                register = p.b.value(nvvm.LoadSharedOp, (address, always), type_)
                value = SharedView(register, value.offsets) if isinstance(value, SharedView) else register
            p.values[argument] = value
    _barrier_of_all(p, workers)
    last = last_op_of(block)
    p.lower_ops([inner for inner in block.ops if inner is not last])
    p.b.location = last.location
    _barrier_of_all(p, workers)
    if registers is not None and workers.registers is not None:
        _set_registers(p, registers, workers.registers[2])
    workers.entries.append(prologue)
    workers.returns.append(p.b.block)
    p.b.move_to(prologue)
    p.b.branch(body)


def release_workers(f: FunctionLowering, workers: WorkerWarps) -> None:
    """Before the kernel's return: the other warps end too."""
    _tell_workers(f, workers, [_number_of_the_end(workers)] * workers.waiting)
    _barrier_of_all(f, workers)


def _number_of_the_end(workers: WorkerWarps) -> int:
    """The number after those of all partitions."""
    count = sum(len(op.partition_regions) for op in workers.kernel.walk() if isinstance(op, WarpSpecializeOp))
    if count >= _NO_PARTITION:
        raise LoweringError("ttg.warp_specialize: a kernel can have no more than 254 partitions")
    return count


def dispatch(f: FunctionLowering, workers: WorkerWarps, body: Block) -> None:
    """Ends the prologue: default warps go on at `body`, the others wait for partitions."""
    b = f.b
    wait, dispatching = f.new_block(), f.new_block()
    warp = b.lshr(f.thread_id(), f.module.lane_bits)
    warp = b.value(nvvm.ShflSyncOp, (warp, b.i32(0)), I32, {"kind": StringAttr("idx")})
    is_default = b.icmp("ult", warp, b.i32(workers.default_warps))
    enter: Block = body
    if workers.registers is not None:
        enter = f.new_block()
    b.cond_branch(is_default, enter, wait)
    if workers.registers is not None:
        start, default, low = workers.registers
        b.move_to(enter)
        _set_registers(f, start, default)
        b.branch(body)
        b.move_to(wait)
        _set_registers(f, start, low)
    b.move_to(wait)
    b.branch(dispatching)
    b.move_to(dispatching)
    _barrier_of_all(f, workers)
    pointer = b.gep(f.scratch(workers.kernel), b.sub(warp, b.i32(workers.default_warps)), I8)
    number = b.value(nvvm.LoadSharedOp, (pointer, b.constant(I1, 1)), I8)
    for index, entry in enumerate(workers.entries):
        following = f.new_block()
        b.cond_branch(b.icmp("eq", number, b.constant(I8, index)), entry, following)
        b.move_to(following)
    end, idle = f.new_block(), f.new_block()
    b.cond_branch(b.icmp("eq", number, b.constant(I8, len(workers.entries))), end, idle)
    b.move_to(idle)
    _barrier_of_all(f, workers)
    _barrier_of_all(f, workers)
    b.branch(dispatching)
    b.move_to(end)
    b.operation(L.ReturnOp, (), ())
    for block in workers.returns:
        b.move_to(block)
        b.branch(dispatching)
