"""The steps of `nvgpu-warp-specialization` each by itself, under the names by which Triton's tests run them.

In: TTGIR, with the ids (`async_task_id`) that the step needs. Out: what the step makes of it. Counterpart of the test passes of
third_party/nvidia/hopper/include/Transforms/Passes.td.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import tt
from minitriton.errors import PassError
from minitriton.passes.warp_specialization.code_partition import partition_code
from minitriton.passes.warp_specialization.data_partition import partition_data
from minitriton.passes.warp_specialization.task_propagation import (
    CannotSpecialize,
    partition_tasks,
    propagate_tasks,
    tasks_inside,
)
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@dataclass(frozen=True)
class _Step(Pass):
    """One step on every function that has a body."""

    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    num_warp_groups: int = 0
    """How many warp groups the kernel is split between; 0: nothing is done."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the step. Raises `PassError` where it cannot be done."""
        for function in op.ops:
            if not isinstance(function, tt.FuncOp) or function.body.first_block is None:
                continue
            try:
                self.step(function)
            except CannotSpecialize as error:
                raise PassError(f"{self.name}: {error}") from error

    def step(self, function: tt.FuncOp) -> None:
        """What the step does to one function."""
        raise NotImplementedError


@register_pass
class TaskPartition(_Step, stage="ttgir", origin="triton"):
    """Gives ids to loads, products and stores."""

    name: ClassVar[str] = "nvgpu-test-ws-task-partition"

    def step(self, function: tt.FuncOp) -> None:
        """Give the ids, if there are several warp groups."""
        partition_tasks(function, self.num_warp_groups)


@register_pass
class TaskPropagation(_Step, stage="ttgir", origin="triton"):
    """Gives ids to what ops with ids need."""

    name: ClassVar[str] = "nvgpu-test-taskid-propagate"

    def step(self, function: tt.FuncOp) -> None:
        """Give the ids, if some are given."""
        if self.num_warp_groups > 0 and tasks_inside(function):
            propagate_tasks(function)


@register_pass
class DataPartition(_Step, stage="ttgir", origin="triton"):
    """Cuts tiles for several consumers."""

    name: ClassVar[str] = "nvgpu-test-ws-data-partition"

    def step(self, function: tt.FuncOp) -> None:
        """Cut the tiles, if there are several consumers."""
        if self.num_warp_groups > 2 and not partition_data(function):
            raise PassError(f"{self.name}: the tiles of @{function.sym_name.data} cannot be cut")


@register_pass
@dataclass(frozen=True)
class CodePartition(_Step, stage="ttgir", origin="triton"):
    """Makes a region of each task; tokens stay."""

    name: ClassVar[str] = "nvgpu-test-ws-code-partition"
    num_buffers: int = 0
    """The length of rings in loops that name no number of stages; 0: nothing is done."""
    requested_registers: int = 232
    """Not read, as in Triton: each consumer asks for 232."""

    def step(self, function: tt.FuncOp) -> None:
        """Make the regions."""
        if self.num_buffers > 0:
            partition_code(function, self.num_buffers)
