"""What every oracle runs: one launch of a kernel given as source text."""

from __future__ import annotations

from dataclasses import dataclass

from minitriton.fuzz.running.launch_arguments import LaunchArguments


@dataclass
class FuzzedLaunch:
    """One launch: source text, arguments, options."""

    source: str
    launch: LaunchArguments
    grid: tuple[int, ...]
    num_warps: int
    fp_fusion: bool

    @property
    def options(self) -> dict[str, object]:
        return {"num_warps": self.num_warps, "enable_fp_fusion": self.fp_fusion}
