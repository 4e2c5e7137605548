"""What the code generator knows of NVIDIA GPUs: lowerings to the `nvvm` dialect, its text as inline PTX and intrinsics, libdevice."""

import functools
from collections.abc import Callable
from typing import Any

from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.scratch import needs_scratch_on

LOWERINGS = lowerings_of("cuda")
lowers = LOWERINGS.add
needs_scratch = needs_scratch_on("cuda")


def lowers_where(feature: str, *kinds: Any) -> Callable[[Any], Any]:
    """As `lowers`, of ops whose instructions only architectures with `feature` have (`has_tma`): LLVM ends the process at others."""

    def register(rule: Any) -> Any:
        @functools.wraps(rule)
        def checked(f: Any, op: Any) -> None:
            require(f, op, feature)
            rule(f, op)

        LOWERINGS.update(dict.fromkeys(kinds, checked))
        return rule

    return register


def require(f: Any, op: Any, feature: str) -> None:
    """Raises `LoweringError` at `op` where the architecture lacks `feature`."""
    if not getattr(f.module.target, feature):
        wanted = "sm_90a" if feature == "has_wgmma" else "sm_90 or later"
        raise f.unsupported(
            op,
            f"needs {wanted}, and the kernel is compiled for {f.module.target.sm}",
            help="cp.async (nvidia.ampere.async_copy) and mma_v2 run from sm_80 on",
        )
