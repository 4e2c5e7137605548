"""What `nvidia-smi` says of the first GPU, and fixing its clocks while something is measured.

nvsmi(["clocks.current.sm", "power.draw"])    →    [1980, 412]
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator

from minitriton.errors import MinitritonError
from minitriton.runtime.cuda_driver import has_gpu
from minitriton.runtime.on_cpu.emulation_cost import CLOCK, MEMORY_CLOCK, TIMING

_CLOSE = 10
"""MHz by which a clock may differ from what was asked for."""

_CLOCKS = {
    f"clocks.{when}{part}": clock
    for when in ("", "current.", "max.", "applications.")
    for parts, clock in ((("sm", "gr", "graphics"), CLOCK), (("mem", "memory"), MEMORY_CLOCK))
    for part in parts
}
"""kHz."""


def _nvidia_smi(*arguments: str) -> str:
    """What it prints. Raises `MinitritonError` where it is missing or refuses."""
    try:
        return subprocess.check_output(["nvidia-smi", "-i", "0", *arguments], text=True, stderr=subprocess.STDOUT)
    except OSError as error:
        raise MinitritonError(
            f"cannot run nvidia-smi: {error.strerror}", help="it comes with NVIDIA's driver; put it on the PATH"
        ) from None
    except subprocess.CalledProcessError as error:
        raise MinitritonError(
            f"nvidia-smi {' '.join(arguments)}: {error.output.strip()}", help="clocks are for the administrator to set"
        ) from None


def nvsmi(attrs: list[str]) -> list[int]:
    """The numbers that `nvidia-smi --query-gpu` gives for `attrs`, fractions dropped; on the CPU, clocks of the GPU whose times are estimated."""
    if TIMING.by_count and not has_gpu() and all(name in _CLOCKS for name in attrs):
        return [_CLOCKS[name] // 1000 for name in attrs]
    out = _nvidia_smi(f"--query-gpu={','.join(attrs)}", "--format=csv,noheader,nounits")
    return [int(float(number)) for number in out.split(",")]


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> Generator[tuple[float, float]]:
    """Inside the `with`, SMs and memory run at these clocks (MHz); gives the peaks of an A100 at them, in TFLOP/s and GB/s.

    Needs the administrator's rights. Raises `MinitritonError` if the clocks are not reached; they are freed at the end.
    """
    try:
        _nvidia_smi("-pm", "1")
        _nvidia_smi(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        _nvidia_smi(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        clocks = nvsmi(["clocks.current.sm", "clocks.current.memory"])
        for name, clock, wanted in zip(("SMs", "memory"), clocks, (ref_sm_clock, ref_mem_clock), strict=True):
            if abs(clock - wanted) >= _CLOSE:
                raise MinitritonError(f"the GPU's {name} run at {clock} MHz, not {wanted}")
        yield 1e-6 * 2 * 108 * 4 * 256 * ref_sm_clock, 640 * 2 * ref_mem_clock * 1e-3
    finally:
        for reset in (("-pm", "0"), ("-rgc",), ("-rmc",)):
            _nvidia_smi(*reset)
