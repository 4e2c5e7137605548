"""The shared memory of an interpreted program, byte by byte, and what may not be done to it yet.

In: allocations, loads, stores and asynchronous copies, each of a view, with the warps that do it. Out: values, or an
`InterpreterError` that names both ops where a run on a GPU could see something else.

    claim(op, 0, 256)              256 bytes of poison; whatever buffer was there is lost
    store(view, values, warps)     defined from now on, for the storing warps; for others after `barrier()`
    copy_async(view, ...)          in flight until `wait(n)` covers the group that `commit()` closed

What threads of one warp do is taken to happen in order. Barriers are checked only if `check_races` says that the program has them:
they are put in where a module is lowered, so that earlier a program without any is sound. Accesses of different partitions of a
`ttg.warp_specialize`, which only memory barriers order, are checked always (`partition_order`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from minitriton.dialects.facts.synchronization import OfAsyncProxy
from minitriton.dialects.locations import user_location
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.memory.shared_views import AllocatedBuffer, BufferView
from minitriton.interpreter.warps.partition_order import PartitionOrder

_NOBODY = 0


@dataclass
class CopyInFlight:
    """An asynchronous copy in flight: the bytes it writes, and for each the warps that started it."""

    op: Operation
    where: np.ndarray
    warps: np.ndarray


@dataclass(frozen=True)
class _WarpAccess:
    """An access by threads to bytes, each by the warps that did it."""

    op: Operation
    where: np.ndarray
    warps: np.ndarray
    writes: bool


_ALL_WARPS = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass
class Issued:
    """A group of warps that runs one program, and the asynchronous copies that it has issued and not waited for."""

    first_warp: int = 0
    group: np.uint64 = _ALL_WARPS
    """The warps of the group, as bits: only among them are accesses checked, and barriers met."""
    open: list[int] = field(default_factory=list[int])
    groups: list[list[int]] = field(default_factory=list[list[int]])

    @staticmethod
    def of_warps(first: int, count: int, before: Issued | None = None) -> Issued:
        """`count` warps from `first` on, which go on with what was issued `before`."""
        group = np.uint64(((1 << count) - 1) << first)
        return Issued(first, group) if before is None else Issued(first, group, before.open, before.groups)


@dataclass
class Bytes:
    """What is known of each byte."""

    data: np.ndarray
    defined: np.ndarray
    buffer: np.ndarray
    """The number of the buffer that it belongs to."""
    copy: np.ndarray
    """The number of the asynchronous copy that writes it at the moment, 0 if none does."""
    writers: np.ndarray
    readers: np.ndarray
    """The warps that wrote or read it since the last barrier."""
    pinned: np.ndarray
    """How many asynchronous dots read it at the moment."""
    written_by: np.ndarray
    read_by: np.ndarray
    """The numbers of the ops that did so last."""
    unfenced: np.ndarray
    """Whether threads have written it, or a `cp.async` of theirs, and no fence for the async proxy has come since."""

    @staticmethod
    def poison(size: int) -> Bytes:
        """Bytes that are unknown."""
        return Bytes(
            np.zeros(size, np.uint8),
            np.zeros(size, np.bool_),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.uint64),
            np.zeros(size, np.uint64),
            np.zeros(size, np.int32),
            np.zeros(size, np.int32),
            np.zeros(size, np.int32),
            np.zeros(size, np.bool_),
        )

    def followed_by(self, other: Bytes) -> Bytes:
        """These bytes and then others."""
        return Bytes(
            *(np.concatenate([mine, theirs]) for mine, theirs in zip(_parts(self), _parts(other), strict=True))
        )


def _parts(state: Bytes) -> tuple[np.ndarray, ...]:
    return (
        state.data, state.defined, state.buffer, state.copy, state.writers, state.readers, state.pinned,
        state.written_by, state.read_by, state.unfenced,
    )  # fmt: skip


@dataclass
class CheckedSharedMemory:
    """The shared memory of one CTA. `limit` is what the module says it needs, None if nothing has been placed."""

    limit: int | None = None
    check_races: bool = False
    check_fences: bool = False
    """Whether wgmma and bulk copies may read only what a fence stands between after threads, or their `cp.async`, have written it."""
    base: int = 0
    """Where the memory of the function that runs begins."""
    _bytes: Bytes = field(default_factory=lambda: Bytes.poison(0))
    _end: int = 0
    _own_offsets: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _buffers: dict[int, AllocatedBuffer] = field(default_factory=dict[int, AllocatedBuffer])
    _number: int = 0
    _copies: dict[int, CopyInFlight] = field(default_factory=dict[int, CopyInFlight])
    issued: Issued = field(default_factory=Issued)
    """Of the group of warps that runs at the moment."""
    order: PartitionOrder | None = None
    """Of the partitions that run concurrently, if any do."""
    _since_arrival: list[_WarpAccess] | None = None
    """What has happened since the threads arrived at the cluster's barrier, before they wait; None if they have not."""
    _ops: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _op_list: list[Operation] = field(default_factory=list[Operation])

    def start_program(self) -> None:
        """Poison everywhere, nothing in flight."""
        self.base = 0
        if self._end:
            self._bytes = Bytes.poison(self._end)
            self._buffers.clear()
            self._copies.clear()
        self.issued = Issued()
        self.order = None
        self._since_arrival = None

    def place(self, op: Operation, size: int) -> int:
        """An offset of its own for an allocation that has none in the IR: after everything that has."""
        found = self._own_offsets.get(op)
        if found is None:
            found = self._own_offsets[op] = -(-max(self._end, self.limit or 0) // 1024) * 1024
            self._grow(found + size)
        return found

    def claim(self, op: Operation, start: int, size: int) -> AllocatedBuffer:
        """An allocation runs: its bytes are poison, and no other buffer's any more."""
        if self.limit is not None and op not in self._own_offsets and start + size > self.limit:
            raise InterpreterError(
                f"{op.name} is at bytes {start} to {start + size} of shared memory, which ends at {self.limit}",
                help="allocation.offset of the op and ttg.shared of the module contradict each other",
            )
        self._grow(start + size)
        part = slice(start, start + size)
        self._check_idle(part, op, "allocates")
        self._number += 1
        buffer = self._buffers[self._number] = AllocatedBuffer(op, self._number, start, size)
        self._bytes.defined[part] = False
        self._bytes.unfenced[part] = False
        self._bytes.buffer[part] = buffer.number
        return buffer

    def release(self, op: Operation, buffer: AllocatedBuffer) -> None:
        """The buffer's life ends."""
        part = slice(buffer.start, buffer.start + buffer.size)
        self._check_idle(part, op, "frees")
        mine = self._bytes.buffer[part] == buffer.number
        self._bytes.buffer[part][mine] = _NOBODY

    def load(self, op: Operation, view: BufferView, warps: np.ndarray | int) -> np.ndarray:
        """The elements of `view`, each read by `warps`."""
        where = view.byte_addresses()
        state = self._bytes
        self._check_owner(op, view, where, "reads")
        self._check_not_in_flight(op, view, where, "reads")
        missing = ~state.defined[where]
        if missing.any():
            raise InterpreterError(
                f"{op.name} reads shared memory that nothing has written: {_element(view, missing)} of the buffer of "
                f"{_op_text(view.buffer.op)}",
                help="store the whole buffer before it is read",
            )
        if self.check_races:
            readers = self._per_byte(warps, view)
            writers = state.writers[where] & self.issued.group
            late = (writers != 0) & ((readers & ~writers) != 0)
            if late.any():
                self._complain_of_race(op, view, late, state.written_by[where], "reads", "was written")
            self._mark_read(op, where, readers)
        self._ordered_read(op, view, where)
        return state.data[where].view(view.dtype).reshape(view.addresses.shape)

    def store(self, op: Operation, view: BufferView, values: np.ndarray, warps: np.ndarray | int) -> None:
        """Write `values` to the elements of `view`, each by `warps`."""
        where = view.byte_addresses()
        self._begin_write(op, view, where, warps)
        self._set(view, where, values)
        self._bytes.defined[where] = True
        self._mark_written(op, where, self._per_byte(warps, view))

    def copy_async(self, op: Operation, view: BufferView, values: np.ndarray, warps: np.ndarray | int) -> None:
        """Start a copy of `values` to `view`: it belongs to the group that `commit` closes next."""
        self.issued.open.append(self.start_copy(op, view, values, warps, whose_result=warps))

    def start_copy(
        self,
        op: Operation,
        view: BufferView,
        values: np.ndarray,
        warps: np.ndarray | int,
        *,
        whose_result: np.ndarray | int,
    ) -> int:
        """`warps` start a copy, which is in flight until `finish_copy` of the number returned.

        `whose_result` are the warps that then see it without a barrier; 0 stands for all.
        """
        where = view.byte_addresses()
        self._begin_write(op, view, where, warps)
        self._set(view, where, values)
        self._number += 1
        self._bytes.copy[where] = self._number
        self._copies[self._number] = CopyInFlight(op, where, self._per_byte(whose_result, view))
        return self._number

    def commit(self) -> None:
        """Close a group of asynchronous copies."""
        self.issued.groups.append(self.issued.open)
        self.issued.open = []

    def wait(self, pending: int) -> None:
        """Let all groups but the last `pending` ones end: what they wrote is there, for the warps that started them."""
        groups = self.issued.groups
        count = max(0, len(groups) - pending)
        done, self.issued.groups = groups[:count], groups[count:]
        for number in (number for group in done for number in group):
            self.finish_copy(number)

    def finish_copy(self, number: int) -> None:
        """The copy has ended, if it had not already."""
        copy = self._copies.pop(number, None)
        if copy is None:
            return
        self._bytes.copy[copy.where] = 0
        self._bytes.defined[copy.where] = True
        self._mark_written(copy.op, copy.where, copy.warps)

    def fence(self) -> None:
        """Threads order what they have written before what wgmma and bulk copies read. It is taken to be of all threads that wrote."""
        self._bytes.unfenced[:] = False

    def check_fenced(self, op: Operation, view: BufferView) -> None:
        """Whether wgmma or a bulk copy may read `view`."""
        where = view.byte_addresses()
        missing = self._bytes.unfenced[where]
        if self.check_fences and missing.any():
            writer = self._op_list[int(self._bytes.written_by[where[np.flatnonzero(missing)[0]]])]
            raise InterpreterError(
                f"{op.name} reads {_element(view, missing)} of the buffer of {_op_text(view.buffer.op)}, which {_op_text(writer)} "
                "has written, with no fence between them",
                help="fence_async_shared() after the store, or after the wait for the copy, before what reads it",
            )

    def begin_async_read(self, op: Operation, view: BufferView) -> None:
        """An op goes on reading `view` until `end_async_read`: nothing may write it."""
        where = view.byte_addresses()
        self._bytes.pinned += self._times(where)
        self._bytes.read_by[where] = self._op_number(op)

    def end_async_read(self, view: BufferView) -> None:
        """It has been read."""
        where = view.byte_addresses()
        self._bytes.pinned -= self._times(where)
        if self.order is not None:
            self.order.reads(where, int(self._bytes.read_by[where[0]]))

    def _times(self, where: np.ndarray) -> np.ndarray:
        """How often each byte stands in `where`."""
        return np.bincount(where, minlength=self._end).astype(np.int32)

    def barrier(self) -> None:
        """All threads of the group meet."""
        if self.check_races:
            self._bytes.writers &= ~self.issued.group
            self._bytes.readers &= ~self.issued.group
            if self._since_arrival is not None:
                self._since_arrival = []

    def begin_partitions(self, names: list[str]) -> None:
        """Partitions of these names run concurrently, the first one to begin with."""
        self.order = PartitionOrder(names)
        self.order.grow(self._end)

    def arrive(self) -> None:
        """All threads arrive at the barrier of the cluster, where they will wait."""
        self._since_arrival = []

    def wait_for_cluster(self, *, released: bool) -> None:
        """All threads have arrived there; what came before the arrival is over for all, if the arrival `released` it."""
        since, self._since_arrival = self._since_arrival or [], None
        if not released:
            return
        self.barrier()
        for access in since:
            mark = self._mark_written if access.writes else self._mark_read
            mark(access.op, access.where, access.warps)

    def use_scratch(self, op: Operation, start: int, size: int, warps: int, *, meets: bool) -> None:
        """An op uses shared memory while it runs: all warps write it, meet (if `meets`), and read it; it is poison then."""
        buffer = self.claim(op, start, size)
        view = BufferView(buffer, np.arange(start, start + size), np.dtype(np.uint8))
        self.store(op, view, np.zeros(size, np.uint8), warps)
        if meets:
            self.barrier()
        self.load(op, view, warps)
        self.release(op, buffer)

    def _grow(self, size: int) -> None:
        if size > self._end:
            self._bytes = self._bytes.followed_by(Bytes.poison(size - self._end))
            self._end = size
        if self.order is not None:
            self.order.grow(self._end)

    def _set(self, view: BufferView, where: np.ndarray, values: np.ndarray) -> None:
        full = np.ascontiguousarray(np.broadcast_to(values, view.addresses.shape), view.dtype)
        self._bytes.data[where] = full.reshape(-1).view(np.uint8)

    def _begin_write(self, op: Operation, view: BufferView, where: np.ndarray, warps: np.ndarray | int) -> None:
        self._check_owner(op, view, where, "writes")
        self._check_not_in_flight(op, view, where, "writes")
        self._check_not_pinned(op, view, where)
        self._ordered_write(op, view, where)
        if not self.check_races:
            return
        state, mine = self._bytes, self._per_byte(warps, view)
        for earlier, by, what in (
            (state.writers, state.written_by, "was written"),
            (state.readers, state.read_by, "was read"),
        ):
            before = earlier[where] & self.issued.group
            together = before | mine
            late = (before != 0) & ((together & (together - np.uint64(1))) != 0)
            if late.any():
                self._complain_of_race(op, view, late, by[where], "writes", what)

    def _mark_written(self, op: Operation, where: np.ndarray, warps: np.ndarray) -> None:
        if self.check_fences:
            self._bytes.unfenced[where] = OfAsyncProxy.of(op) is None
            self._bytes.written_by[where] = self._op_number(op)
        if self.check_races:
            self._bytes.writers[where] = warps
            self._bytes.written_by[where] = self._op_number(op)
            if self._since_arrival is not None:
                self._since_arrival.append(_WarpAccess(op, where, warps, writes=True))

    def _mark_read(self, op: Operation, where: np.ndarray, warps: np.ndarray) -> None:
        self._bytes.readers[where] |= warps
        self._bytes.read_by[where] = self._op_number(op)
        if self._since_arrival is not None:
            self._since_arrival.append(_WarpAccess(op, where, warps, writes=False))

    def _ordered_read(self, op: Operation, view: BufferView, where: np.ndarray) -> None:
        order = self.order
        if order is None:
            return
        if (met := order.unseen_write(where)) is not None:
            self._complain_of_partitions(order, op, view, met, "reads", "writes")
        order.reads(where, self._op_number(op))

    def _ordered_write(self, op: Operation, view: BufferView, where: np.ndarray) -> None:
        order = self.order
        if order is None:
            return
        for met, what in ((order.unseen_write(where), "writes"), (order.unseen_read(where), "reads")):
            if met is not None:
                self._complain_of_partitions(order, op, view, met, "writes", what)
        order.writes(where, self._op_number(op))

    def _complain_of_partitions(
        self, order: PartitionOrder, op: Operation, view: BufferView, met: tuple[int, int, int], verb: str, what: str
    ) -> None:
        position, other, number = met
        bad = np.arange(view.addresses.size * view.dtype.itemsize) == position
        raise InterpreterError(
            f"{op.name} in {order.names[order.running]} {verb} {_element(view, bad)} of the buffer of {_op_text(view.buffer.op)}, "
            f"which {order.names[other]} {what} in {_op_text(self._op_list[number])}, with no memory barrier between them",
            help="one of the two must wait for a barrier (ttng.wait_barrier) at which the other arrives after its access",
        )

    def _check_owner(self, op: Operation, view: BufferView, where: np.ndarray, verb: str) -> None:
        owners = self._bytes.buffer[where]
        lost = owners != view.buffer.number
        if not lost.any():
            return
        owner = self._buffers.get(int(owners[np.flatnonzero(lost)[0]]))
        what = f"{op.name} {verb} {_element(view, lost)} of the buffer of {_op_text(view.buffer.op)}, whose memory"
        if owner is None:
            raise InterpreterError(f"{what} is free", help="the buffer was deallocated, or a scratch reused its memory")
        raise InterpreterError(
            f"{what} belongs to {_op_text(owner.op)} by now",
            help="the two are alive at the same time: their offsets must not overlap",
        )

    def _check_not_in_flight(self, op: Operation, view: BufferView, where: np.ndarray, verb: str) -> None:
        in_flight = self._bytes.copy[where]
        busy = in_flight != 0
        if busy.any():
            copy = self._copies[int(in_flight[np.flatnonzero(busy)[0]])]
            raise InterpreterError(
                f"{op.name} {verb} {_element(view, busy)} of the buffer of {_op_text(view.buffer.op)} while {_op_text(copy.op)} "
                "may still write it",
                help="no wait covers the group of that copy yet",
            )

    def _check_not_pinned(self, op: Operation, view: BufferView, where: np.ndarray) -> None:
        read = self._bytes.pinned[where] != 0
        if read.any():
            reader = self._op_list[int(self._bytes.read_by[where[np.flatnonzero(read)[0]]])]
            raise InterpreterError(
                f"{op.name} writes {_element(view, read)} of the buffer of {_op_text(view.buffer.op)} while {_op_text(reader)} "
                "may still read it",
                help="wait for the dot before its operands are overwritten",
            )

    def _check_idle(self, part: slice, op: Operation, verb: str) -> None:
        in_flight = self._bytes.copy[part]
        busy = np.flatnonzero(in_flight)
        if len(busy):
            copy = self._copies[int(in_flight[busy[0]])]
            raise InterpreterError(
                f"{op.name} {verb} memory that {_op_text(copy.op)} may still write",
                help="wait for the copy before the buffer's life ends",
            )
        read = np.flatnonzero(self._bytes.pinned[part])
        if len(read):
            reader = self._op_list[int(self._bytes.read_by[part][read[0]])]
            raise InterpreterError(
                f"{op.name} {verb} memory that {_op_text(reader)} may still read",
                help="wait for it before the buffer's life ends",
            )

    def _complain_of_race(
        self, op: Operation, view: BufferView, late: np.ndarray, by: np.ndarray, verb: str, what: str
    ) -> None:
        other = self._op_list[int(by[np.flatnonzero(late)[0]])]
        raise InterpreterError(
            f"{op.name} {verb} {_element(view, late)} of the buffer of {_op_text(view.buffer.op)}, which {what} by another warp "
            f"in {_op_text(other)}, with no barrier between them",
            help="a ttg.local_barrier is missing between the two",
        )

    def in_flight(self) -> list[int]:
        """The copies that the group has issued and not waited for."""
        return [*(number for group in self.issued.groups for number in group), *self.issued.open]

    def _per_byte(self, warps: np.ndarray | int, view: BufferView) -> np.ndarray:
        """The warps of each element's bytes, of those of the group that runs."""
        each = np.broadcast_to(np.asarray(warps, np.uint64) << np.uint64(self.issued.first_warp), view.addresses.shape)
        return np.repeat(each.reshape(-1), view.dtype.itemsize)

    def _op_number(self, op: Operation) -> int:
        found = self._ops.get(op)
        if found is None:
            found = self._ops[op] = len(self._op_list)
            self._op_list.append(op)
        return found


def _element(view: BufferView, bad: np.ndarray) -> str:
    """The first element with a bad byte, in words."""
    position = int(np.flatnonzero(bad)[0]) // view.dtype.itemsize
    return f"element {tuple(int(i) for i in np.unravel_index(position, view.addresses.shape))}"


def _op_text(op: Operation) -> str:
    """An op and its line."""
    location = user_location(op.location)
    return op.name if location is None else f"{op.name} ({location.file}:{location.line})"
