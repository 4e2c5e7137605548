"""How fast an architecture's parts are, for models of time: operations and bytes a clock of one SM, latencies in clocks.

    speeds_of(90).tensor_flops("wgmma", 16)     4096 a clock and SM: 989 TFLOP/s of 132 SMs at 1830 MHz

Sources: NVIDIA's white papers of A100 and H100 (tensor cores, clocks, memory); Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
Architecture via Microbenchmarking" (IPDPS 2024) for L2, latencies, and `mma.sync` on Hopper at about 62 % of `wgmma`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Speeds:
    """Of one architecture."""

    megahertz: float
    tensor_flops_16: float
    """Of `wgmma`, or of `mma.sync` where there is none, a clock and SM, dense, of 16-bit operands; half of it for 32, twice for 8 bits."""
    sync_share: float
    """Of these, what `mma.sync` reaches."""
    fma_flops: float
    memory_bytes: float
    """A clock, of the whole GPU."""
    l2_bytes_per_sm: float
    l2_bytes: float
    """How much L2 holds."""
    shared_bytes: float = 128.0
    special: float = 16.0
    lanes: float = 128.0
    memory_latency: float = 650.0
    l2_latency: float = 270.0
    shared_latency: float = 30.0

    def tensor_flops(self, instruction: str, bits: int) -> float:
        """A clock and SM."""
        if instruction == "fma":
            return self.fma_flops
        return self.tensor_flops_16 * 16 / max(bits, 8) * (self.sync_share if instruction == "mma.sync" else 1.0)


_AMPERE = Speeds(
    1410, tensor_flops_16=2048, sync_share=1.0, fma_flops=128, memory_bytes=1103, l2_bytes_per_sm=47, l2_bytes=40e6,
)  # fmt: skip
SPEEDS = {
    80: _AMPERE,
    86: replace(_AMPERE, megahertz=1695, tensor_flops_16=1024, fma_flops=256, memory_bytes=552, l2_bytes=6e6),
    89: replace(_AMPERE, megahertz=2520, tensor_flops_16=1024, fma_flops=256, memory_bytes=400, l2_bytes=72e6),
    90: Speeds(
        1755, tensor_flops_16=4096, sync_share=0.62, fma_flops=256, memory_bytes=1909, l2_bytes_per_sm=40, l2_bytes=50e6,
    ),
}  # fmt: skip
"""By compute capability times ten."""


def speeds_of(capability: int) -> Speeds:
    """Those of an architecture, else of the next lower one that is known, else of the lowest."""
    known = sorted(SPEEDS)
    return SPEEDS[known[max(bisect_right(known, capability) - 1, 0)]]
