"""The device that launches run on where there is no GPU: the PTX emulator, as `driver.active` shows it.

Programs ask the current device what to compile for, where to put tensors, and how much it holds:

    driver.active.get_current_target()          →  GPUTarget("cuda", 90, 32), what launches on host arrays compile for
    driver.active.get_active_torch_device()     →  torch.device("cpu")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minitriton.runtime.cuda_driver import get_driver
from minitriton.runtime.default_target import default_target
from minitriton.runtime.launching.arguments import is_array, is_on_host
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.launching.loading import given_arguments
from minitriton.runtime.on_cpu.emulation_cost import CLOCK, MEMORY_BUS, MEMORY_CLOCK, TIMING
from minitriton.target import GPUTarget
from minitriton.target.architectures import H100_MULTIPROCESSORS

if TYPE_CHECKING:
    from minitriton.runtime.stored_kernel import StoredKernel


class EmulatedDevice:
    """One device of one multiprocessor: the emulator runs the programs of a grid one after the other. To programs for a GPU, whose
    times are estimates for one, it has that one's."""

    def target(self, device: int = 0) -> GPUTarget:
        """What kernels are compiled for; `TRITON_OVERRIDE_ARCH` names another architecture than Hopper."""
        return default_target()

    def current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        """There is one device only. Raises `ValueError` for another."""
        if device != 0:
            raise ValueError(f"unknown device {device}: without a GPU, device 0 is the emulator")

    def properties(self, device: int = 0) -> dict[str, int]:
        """As of a GPU (bytes, counts, kHz, bits); clocks and bus are 0, which the emulator has not, but for programs for a GPU."""
        target = self.target()
        return {
            "max_shared_mem": target.max_shared_memory,
            "max_num_regs": target.features.registers_per_sm,
            "multiprocessor_count": H100_MULTIPROCESSORS if TIMING.by_count else 1,
            "warpSize": target.warp_size,
            "sm_clock_rate": CLOCK if TIMING.by_count else 0,
            "mem_clock_rate": MEMORY_CLOCK if TIMING.by_count else 0,
            "mem_bus_width": MEMORY_BUS if TIMING.by_count else 0,
        }


# Launching an already compiled kernel without a GPU, in the way of Triton's `CompiledKernel.run`, which code generators write.
#
# kernel.run(x, y, z, stream, kernel.function, kernel.packed_metadata, None, None, None, *arguments)    →    its PTX on the emulator


class HostLauncher:
    """Stands where a `Launcher` does with a GPU. Arguments are those of all parameters, or of those that are not compiled in."""

    def __init__(self, kernel: StoredKernel) -> None:
        self.kernel = kernel

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: int | None,
        packed_metadata: object,
        launch_metadata: object,
        launch_enter_hook: Callable[[object], None] | None,
        launch_exit_hook: Callable[[object], None] | None,
        *arguments: object,
    ) -> None:
        """Runs the kernel over the grid. Raises `MinitritonError` for arrays of a device, and what `run_on_emulator` does."""
        from minitriton.runtime.on_cpu.emulation import run_on_emulator

        if any(is_array(a) and not is_on_host(a) for a in arguments):
            get_driver()
        found = expanded_arguments(given_arguments(self.kernel, arguments), self.kernel.metadata.tensordesc_meta)
        if launch_enter_hook:
            launch_enter_hook(launch_metadata)
        run_on_emulator(self.kernel, (x, y, z), found)
        if launch_exit_hook:
            launch_exit_hook(launch_metadata)
