"""What threads do together: shuffles and votes of a warp, barriers, asynchronous copies.

shfl.sync.bfly.b32 %r2|%p1, %r1, 16, 31, -1   →   t1 = shuffle(x, 9, "bfly", r1, k0, k1, k2, m); r2 = t1[0]; p1 = t1[1]
bar.sync 0                                    →   ends its block; the machine holds the threads until all of the CTA have arrived
cp.async.wait_group 1                         →   wait_group(x, 1, m)
"""

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine, Outcome
from minitriton.emulator.operations import asynchronous as async_operations
from minitriton.emulator.operations import cluster as cluster_operations
from minitriton.emulator.operations import memory as memory_operations
from minitriton.emulator.operations import proxy_fences
from minitriton.emulator.operations import tensor_core as matrix_operations
from minitriton.emulator.operations import warp as warp_operations
from minitriton.emulator.operations.barriers import Arrival, Reduction, check_numbers
from minitriton.emulator.ptx.control_flow import Block
from minitriton.emulator.ptx.program import Immediate, Instruction, Operand, Pair, Register
from minitriton.emulator.rules.memory import address_text, elements_of
from minitriton.emulator.threads import Mask
from minitriton.emulator.translate import NAMES, BlockWriter, kind_of, rule
from minitriton.target.architectures import WARP_SIZE


def barrier(
    number: Lanes,
    count: Lanes | None,
    wait: bool,
    aligned: bool,
    site: int,
    guard: Lanes | None,
    reduction: Reduction | None = None,
) -> Outcome:
    """What the machine does with the threads at the end of a block that a barrier ends."""

    def act(x: Machine, ready: dict[int, Mask], block: Block, mask: Mask) -> None:
        if guard is not None:
            here, rest = x.part(guard, mask)
            if rest is not False:
                x.go(ready, block.next, rest)
            if here is False:
                return
            mask = here
        expected = x.threads if count is None else int(np.max(count))
        uniform = number.ndim == 0 or (number == number[0]).all()
        chosen = [int(number if number.ndim == 0 else number[0])] if uniform else np.unique(number[mask]).tolist()
        for one in chosen:
            if x.check and (one or count is not None):
                check_numbers(x, one, expected, site)
            here = mask if uniform else (number == one if mask is None else (number == one) & mask)
            x.arrive(ready, Arrival(one, expected, wait, site, aligned, reduction), block.next, here)

    return act


def warp_barrier(x: Machine, site: int, members: Lanes, mask: Mask) -> None:
    """`bar.warp.sync`."""
    mask = x.mask(mask)
    if x.check and (members.ndim or members != 0xFFFFFFFF):
        named = (x.spread(members) >> x.lane.astype(np.uint32) & np.uint32(1)).astype(np.bool_)
        stray = (x.alive if mask is None else mask) & ~named
        if stray.any():
            text = "the member mask does not name a thread that executes this barrier"
            x.find("inactive-lane", site, np.nonzero(stray)[0], text)
    x.clocks.synchronize_warps(np.arange(x.count // WARP_SIZE) if mask is None else np.unique(x.warp[mask]))


NAMES.update({
    "Reduction": Reduction, "cluster_arrive": cluster_operations.arrive, "cluster_wait": cluster_operations.wait,
    "map_address": cluster_operations.map_address, "rank_of": cluster_operations.rank_of,
    "barrier": barrier, "warp_barrier": warp_barrier, "copy_async": async_operations.copy_async,
    "commit_group": async_operations.commit_group, "wait_group": async_operations.wait_group,
    "fence_proxies": proxy_fences.fence, "fence_memory": memory_operations.fence,
})  # fmt: skip


@rule("bar", "barrier")
def _barrier(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if "red" in parts or "cluster" in parts:
        raise ValueError("no such barrier")
    number = w.read(i.operands[0], "u32")
    count = w.read(i.operands[1], "u32") if len(i.operands) > 1 else "None"
    guard = w.guard() or "None"
    w.outcome = f"barrier({number}, {count}, {'arrive' not in parts}, {_aligned(parts)}, {w.site()}, {guard})"


@rule("bar.red", "barrier.red", "barrier.cta.red")
def _barrier_reduction(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    destination, first, *rest = i.operands
    operation = next(p for p in parts if p in ("popc", "and", "or"))
    if not isinstance(destination, Register):
        raise ValueError("the destination must be a register")
    number, count = w.read(first, "u32"), w.read(rest[0], "u32") if len(rest) > 1 else "None"
    reduction = f"Reduction({operation!r}, {w.read(rest[-1], 'b1')}, {destination.index})"
    w.outcome = f"barrier({number}, {count}, True, {_aligned(parts)}, {w.site()}, {w.guard() or 'None'}, {reduction})"


def _aligned(parts: list[str]) -> bool:
    """Whether threads must execute the barrier warp by warp, all at this instruction."""
    return parts[0] == "bar" or "aligned" in parts


@rule("fence.proxy.async", "fence.proxy.async::generic")
def _fence_proxies(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if w.checked and "global" not in parts and "acquire" not in parts:
        w.emit(f"fence_proxies(x, {w.active()})")


@rule("fence", "membar")
def _fence_memory(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if w.checked and not {"gpu", "sys", "gl"}.isdisjoint(parts) and not {"proxy", "mbarrier_init"} & set(parts):
        w.emit(f"fence_memory(x, {w.active()})")


@rule("barrier.cluster.arrive")
def _cluster_arrive(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"cluster_arrive(x, {'relaxed' not in parts}, {w.active()})")


@rule("barrier.cluster.wait")
def _cluster_wait(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if i.guard is not None:
        raise ValueError("under a guard")
    w.outcome = "cluster_wait()"


@rule("mapa")
def _map_address(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    w.write(i.operands[0], kind, f"map_address({w.read(i.operands[1], kind)}, {w.read(i.operands[2], 'u32')})")


@rule("getctarank")
def _rank(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.write(i.operands[0], "u32", f"rank_of({w.read(i.operands[1], kind_of(parts[-1]))})")


@rule("bar.warp.sync")
def _warp_barrier(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"warp_barrier(x, {w.site()}, {w.read(i.operands[0], 'u32')}, {w.active()})")


@rule("cp.async.ca", "cp.async.cg")
def _copy(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    target = address_text(w, i.operands[0], "shared")
    source = address_text(w, i.operands[1], "global")
    size = i.operands[2]
    if not isinstance(size, Immediate):
        raise ValueError("the size must be a constant")
    extra = list(i.operands[3:])
    if "cache_hint" in i.opcode:
        extra.pop()
    valid = w.read(extra[0] if extra else size, "u32")
    w.emit(f"copy_async(x, {w.site()}, {target}, {source}, {size.value}, {valid}, {w.active()})")


@rule("cp.async.commit_group")
def _commit(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"commit_group(x, {w.active()})")


@rule("cp.async.wait_group", "cp.async.wait_all")
def _wait(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    allowed = i.operands[0].value if i.operands and isinstance(i.operands[0], Immediate) else None
    w.emit(f"wait_group(x, {allowed}, {w.active()})")


for _name in ("shuffle", "vote", "active_mask", "elect", "match", "reduce"):
    NAMES[_name] = getattr(warp_operations, _name)


def _both_results(w: BlockWriter, destination: Operand, kind: str, call: str) -> None:
    found = w.temporary(call)
    if isinstance(destination, Pair):
        w.write(destination.first, kind, f"{found}[0]")
        w.write(destination.second, "b1", f"{found}[1]")
    else:
        w.write(destination, kind, f"{found}[0]")


@rule("shfl.sync")
def _shuffle(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    value, source, control, members = (w.read(o, "u32") for o in i.operands[1:5])
    call = f"shuffle(x, {w.site()}, {parts[2]!r}, {value}, {source}, {control}, {members}, {w.active()})"
    _both_results(w, i.operands[0], "u32", call)


@rule("vote.sync")
def _vote(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    predicate, members = w.read(i.operands[1], "b1"), w.read(i.operands[2], "u32")
    kind = "u32" if parts[2] == "ballot" else "b1"
    w.write(i.operands[0], kind, f"vote(x, {w.site()}, {parts[2]!r}, {predicate}, {members}, {w.active()})")


@rule("match")
def _match(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    value, members = w.read(i.operands[1], kind_of(parts[-1])), w.read(i.operands[2], "u32")
    call = f"match(x, {w.site()}, {parts[1]!r}, {value}, {members}, {w.active()})"
    _both_results(w, i.operands[0], "u32", call)


@rule("redux.sync")
def _reduce(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    value, members = w.read(i.operands[1], kind), w.read(i.operands[2], "u32")
    w.write(i.operands[0], kind, f"reduce(x, {w.site()}, {parts[2]!r}, {value}, {members}, {w.active()})")


@rule("activemask")
def _active(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.write(i.operands[0], "u32", f"active_mask(x, {w.active()})")


@rule("elect.sync")
def _elect(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    _both_results(w, i.operands[0], "u32", f"elect(x, {w.read(i.operands[1], 'u32')}, {w.active()})")


# Matrix instructions.
#
# ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, ...}, [%r9]   →   t1 = load_matrix(x, 7, 4, False, r9, m)

for _name in ("load_matrix", "store_matrix", "multiply_add"):
    NAMES[_name] = getattr(matrix_operations, _name)


@rule("ldmatrix")
def _load(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if "m8n8" not in parts or parts[-1] != "b16":
        raise ValueError("only .m8n8 with .b16")
    elements = elements_of(i.operands[0])
    address = address_text(w, i.operands[1], "shared")
    call = f"load_matrix(x, {w.site()}, {len(elements)}, {'trans' in parts}, {address}, {w.active()})"
    found = w.temporary(call)
    for position, element in enumerate(elements):
        w.write(element, "u32", f"{found}[{position}]")


@rule("stmatrix")
def _store(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if "m8n8" not in parts or parts[-1] != "b16":
        raise ValueError("only .m8n8 with .b16")
    values = ", ".join(w.read(v, "u32") for v in elements_of(i.operands[1]))
    address = address_text(w, i.operands[0], "shared")
    w.emit(f"store_matrix(x, {w.site()}, {'trans' in parts}, {address}, [{values}], {w.active()})")


@rule("mma")
def _multiply(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    bits = parts[-1] == "popc"
    types = tuple(parts[-6:-2] if bits else parts[-4:])
    if "row" not in parts or "col" not in parts or "sp" in parts:
        raise ValueError("only dense row.col dots")
    known = ("b1",) if bits else ("f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "s4", "u4")
    if not {types[1], types[2]} <= set(known) or (parts[3] == "m8n8k4" and types[1] == "f16"):
        raise ValueError(f"operands {types[1]} of shape {parts[3]}")
    kinds = ["u64" if t == "f64" else "u32" for t in types]
    operands = [
        "[" + ", ".join(w.read(v, kind) for v in elements_of(o)) + "]"
        for o, kind in zip(i.operands[1:4], kinds[1:], strict=True)
    ]
    found = w.temporary(f"multiply_add(x, {types!r}, {'satfinite' in parts}, {', '.join(operands)}, {'xor' in parts})")
    for position, element in enumerate(elements_of(i.operands[0])):
        w.write(element, kinds[0], f"{found}[{position}]")
