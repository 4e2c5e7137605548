"""Which warp groups run an op: attribute `async_task_id`, and an inserter that sets it.

    tt.descriptor_load ...  {async_task_id = array<i32: 0>}          the producer's
    ttng.warp_group_dot ... {async_task_id = array<i32: 1, 2>}       both consumers'

An op without ids belongs to no group and is not part of the specialized code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation

from minitriton.dialects import tt
from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.rewriting.insertion import Inserter

TASK_IDS = "async_task_id"
PRODUCER = 0
"""The task of the loads: the default warps."""
THREADS = 128
"""Threads of a warp group."""

Tasks = tuple[int, ...]
OpT = TypeVar("OpT", bound=Operation)


class CannotSpecialize(Exception):
    """The loop stays as it is: the text says why, `op` is where."""

    def __init__(self, op: Operation, why: str) -> None:
        super().__init__(why)
        self.op = op


def tasks_of(op: Operation) -> Tasks:
    """The ids of `op`, ascending; () if it has none."""
    found = op.attributes.get(TASK_IDS)
    return tuple(int(each) for each in found.get_values()) if isinstance(found, DenseArrayBase) else ()


def has_tasks(op: Operation) -> bool:
    """Whether `op` says which tasks it belongs to, even if these are none."""
    return TASK_IDS in op.attributes


def set_tasks(op: Operation, tasks: Iterable[int]) -> None:
    """Makes `tasks` the ids of `op`."""
    op.attributes[TASK_IDS] = i32_array(tuple(sorted(set(tasks))))


def add_tasks(op: Operation, tasks: Iterable[int]) -> None:
    """Adds `tasks` to the ids of `op`."""
    together = {*tasks_of(op), *tasks}
    if together:
        set_tasks(op, together)


def add_tasks_around(op: Operation) -> None:
    """The ops around `op`, up to the function, get its tasks too."""
    tasks = tasks_of(op)
    around = op.parent_op()
    while around is not None and not isinstance(around, tt.FuncOp):
        add_tasks(around, tasks)
        around = around.parent_op()


def tasks_inside(op: Operation) -> Tasks:
    """The ids of `op` and of all ops in it, ascending."""
    return tuple(sorted({task for inner in ops_in(op) for task in tasks_of(inner)}))


@dataclass
class TaskInserter(Inserter):
    """An `Inserter` whose ops belong to `tasks`."""

    tasks: Tasks = ()

    @classmethod
    def before_op(cls, op: Operation, tasks: Iterable[int]) -> TaskInserter:
        """Before `op`, with its location, for `tasks`."""
        assert op.parent is not None
        return cls(op.parent, op, op.location, tuple(tasks))

    @classmethod
    def after_op(cls, op: Operation, tasks: Iterable[int]) -> TaskInserter:
        """After `op`, with its location, for `tasks`."""
        assert op.parent is not None
        return cls(op.parent, op.next_op, op.location, tuple(tasks))

    def insert(self, op: OpT) -> OpT:
        """Puts a new op here."""
        if self.tasks:
            set_tasks(op, self.tasks)
        return super().insert(op)
