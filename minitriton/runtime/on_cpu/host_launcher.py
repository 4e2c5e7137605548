"""Launching an already compiled kernel without a GPU, in the way of Triton's `CompiledKernel.run`, which code generators write.

kernel.run(x, y, z, stream, kernel.function, kernel.packed_metadata, None, None, None, *arguments)    →    its PTX on the emulator
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minitriton.runtime.cuda_driver import get_driver
from minitriton.runtime.launching.arguments import is_array, lies_on_host
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.launching.loading import given_arguments

if TYPE_CHECKING:
    from minitriton.runtime.stored_kernel import StoredKernel


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

        if any(is_array(a) and not lies_on_host(a) for a in arguments):
            get_driver()
        found = expanded_arguments(given_arguments(self.kernel, arguments), self.kernel.metadata.tensordesc_meta)
        if launch_enter_hook:
            launch_enter_hook(launch_metadata)
        run_on_emulator(self.kernel, (x, y, z), found)
        if launch_exit_hook:
            launch_exit_hook(launch_metadata)
