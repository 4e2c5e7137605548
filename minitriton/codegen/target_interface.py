"""What a target must provide: the protocols of the parts that an entry of `target.backends.BACKENDS` names.

| part of the entry | protocol | NVIDIA's |
|---|---|---|
| `architectures` | mapping to `target.architectures.Architecture` | `target/architectures.py` |
| `options` | a subclass of `target.CompileOptions` | `target.CUDAOptions` |
| `target_info` | `TargetInfo`; its module registers lowerings and text writers | `codegen/nvidia/` |
| `pipeline` | `PipelineSteps`: the passes, as text | `pipeline/pipelines.py` |
| `passes` | the module of each pass of its own, its emission and assembler among them | `codegen/emission.py`, `codegen/assemble_ptx.py` |
| `dialects` | the module of each dialect of its own | `dialects/nvvm/` |
| `stages` | the names of its own stages, such as `ptx` | |
| `emulator` | `Emulator` | `emulator/` |
| `driver` | `Driver` | `runtime/` |

**Lowerings** are found by op and target. A rule of `codegen/lowering` (`@lowers(tt.SplatOp)`) serves every target and makes ops of the `llvm`
dialect and calls of `TargetInfo` only. A rule of a back end's folder is added to `lowerings_of("cuda")` and is asked first. The same holds for the
scratch memory that an op needs (`codegen.scratch`).

**Text writers** are found by op (`codegen.text.writer.WRITERS`): those of the `llvm` dialect serve every target, a back end adds those of its own ops.

**Emission and assembly** are steps of the pipeline (`Translation`s). A step that returns `bytes` ends it: the assembler.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.dialects.facts.launch import backend_name
from minitriton.target.architectures import Architecture
from minitriton.target.backends import backend


class TargetInfo(Protocol):
    """What the lowerings that serve every target ask of one: instructions that each makes differently. Counterpart of Triton's `TargetInfoBase`.

    Each method appends ops at the builder's position and returns their result.
    """

    cta_scope: str
    """What LLVM calls the scope of the threads of a CTA."""
    reduced_lanes: int
    """Lanes of a warp that `reduce_warp` combines; 0 if it does not."""
    lanes_at_once: int
    """The most lanes of an op on vectors: LLVM does the lanes of one from the last to the first, and what schedules afterwards may keep that order."""

    shuffle_cost: int
    """How many instructions an exchange between neighbouring lanes counts as, its latency among them."""
    sharing_gain: float
    """How many times as many instructions it takes a thread to combine partial results alone, before lanes share them."""

    # Which thread, CTA and program this is ----------------------------------------------------------------------------

    def thread_id(self, b: Builder) -> SSAValue:
        """The number of the thread in its CTA: an i32."""
        ...

    def cluster_rank(self, b: Builder) -> SSAValue:
        """The number of the CTA in its cluster: an i32."""
        ...

    def program_id(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        """The number of the program along an axis of the grid. A program is a cluster of `num_ctas`."""
        ...

    def num_programs(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        """How many programs there are along an axis of the grid."""
        ...

    # What orders threads ----------------------------------------------------------------------------------------------

    def barrier(self, b: Builder, named: tuple[int, int] | None = None) -> None:
        """All threads of the CTA wait for each other; or the threads of a named barrier, given its number and how many these are."""
        ...

    def warp_barrier(self, b: Builder) -> None:
        """The threads of a warp wait for each other, and see each other's writes of shared memory."""
        ...

    def cluster_barrier(self, b: Builder) -> None:
        """All threads of the cluster wait for each other."""
        ...

    # What threads exchange --------------------------------------------------------------------------------------------

    def broadcast_elements(self, bits: int) -> int:
        """Elements of so many bits that all lanes of a warp load from one address of shared memory in the time of one."""
        ...

    def shuffle(self, b: Builder, value: SSAValue, offset: SSAValue, kind: str) -> SSAValue:
        """A value of other lanes of the warp: `idx` of lane `offset`, `bfly` of the lane whose number differs in the bits of `offset`,
        `up` and `down` of the lane that is `offset` lower or higher."""
        ...

    def swap_lanes(
        self, b: Builder, features: Architecture, bit: int, low: SSAValue, high: SSAValue
    ) -> list[SSAValue] | None:
        """Words exchanged between lanes whose numbers differ in `bit`: `low` of the lanes where it is set for `high` of the others, in one instruction;
        None if there is none."""
        ...

    def warp_reduce(self, b: Builder, kind: str, word: SSAValue) -> SSAValue:
        """The i32 `word` of all lanes, combined by `kind` (`add`, `umax`, ...) in one instruction. Asked where `has_redux` holds."""
        ...

    def reduce_warp(
        self, b: Builder, values: list[SSAValue], combine: Callable[[list[SSAValue], list[SSAValue]], list[SSAValue]]
    ) -> list[SSAValue]:
        """The values of all lanes of a warp combined, in all lanes. Asked for warps of `reduced_lanes`; shuffles do for others."""
        ...

    def in_cta(self, b: Builder, pointer: SSAValue, rank: SSAValue) -> SSAValue:
        """The address of the same offset in the shared memory of CTA `rank` of the cluster."""
        ...

    # Shared memory ----------------------------------------------------------------------------------------------------

    def store_shared(self, b: Builder, value: SSAValue, pointer: SSAValue, mask: SSAValue) -> None:
        """Stores `value` in shared memory where `mask` is true."""
        ...

    def load_matrices(self, b: Builder, pointer: SSAValue, count: int, *, transposed: bool) -> SSAValue:
        """`count` matrices of 8x8 16-bit elements, a word of 32 bits of each. Asked where `has_ldmatrix` holds."""
        ...

    def store_matrices(self, b: Builder, words: SSAValue, pointer: SSAValue, *, transposed: bool) -> None:
        """The inverse of `load_matrices`. Asked where `has_stmatrix` holds."""
        ...

    # Kernels ----------------------------------------------------------------------------------------------------------

    def kernel_attributes(self, num_threads: int, num_ctas: int, registers: int | None) -> Mapping[str, Attribute]:
        """The attributes of the `llvm.func` of a kernel; `registers` is the limit of a thread, if there is one."""
        ...

    def parameter_attributes(self) -> Mapping[str, Attribute]:
        """The attributes of a kernel's other parameters."""
        ...

    def descriptor_attributes(self) -> Mapping[str, Attribute]:
        """The attributes of a kernel's parameter that is a tensor descriptor."""
        ...

    def workers_of(self, f: Any, kernel: Operation) -> Any:
        """What the warps of a warp-specialized kernel that wait for work need; None for a kernel without (`f` is its `FunctionLowering`)."""
        ...

    def dispatch(self, f: Any, workers: Any, body: Any) -> None:
        """Ends the prologue of a warp-specialized kernel: its default warps go to `body`, the others wait for work."""
        ...

    def release_workers(self, f: Any, workers: Any) -> None:
        """Before the kernel's return: the warps that wait for work end."""
        ...


class PipelineSteps(Protocol):
    """The compiler of one target: the textual steps from the frontend's IR to the last stage."""

    def __call__(self, target: Any, options: Any, switches: Any) -> list[str]: ...


class Emulator(Protocol):
    """Runs the last text of a kernel on the CPU, for machines without such a GPU."""

    def __call__(
        self,
        text: str,
        kernel: str | None,
        grid: Sequence[int],
        args: Sequence[Any],
        shared_bytes: int,
        **switches: Any,
    ) -> Any:
        """Runs the programs of `grid`; arrays among `args` receive results, numbers are the bytes of a parameter. `switches` are those of
        `emulator.launch.run`. Returns a `Report` of what was wrong and what it cost, or None."""
        ...


class Driver(Protocol):
    """The GPUs of this machine. `ActiveDriver` is NVIDIA's. That of the active back end is what `triton.runtime.driver.active` is made of, and
    its target is what kernels are compiled for where a program does not say (`target.backends.active_backend`)."""

    @classmethod
    def is_active(cls) -> bool:
        """Whether there is such a GPU."""
        ...

    def get_current_target(self) -> Any:
        """The `GPUTarget` of the current device."""
        ...

    @staticmethod
    def load_kernel(kernel: Any) -> None:
        """Loads a compiled kernel on the current device and gives it its `launcher`."""
        ...


@functools.cache
def target_info(name: str) -> TargetInfo:
    """The primitives of the back end called `name`. Its lowerings and text writers are registered from then on."""
    return backend(name).load("target_info")


def target_info_of(op: Operation) -> TargetInfo:
    """The primitives of the back end that the module around `op` is compiled for."""
    return target_info(backend_name(op))
