"""What a program spends its time on, by scope and kernel: the interface of Triton's profiler (`triton.profiler`, Proton).

    import minitriton.as_triton.profiler as proton
    proton.start("matmul", hook="triton")
    with proton.scope("warm"):
        kernel[grid](...)
    proton.finalize()                                     # writes matmul.hatchet
    proton.viewer.print_tree(*proton.viewer.parse(["time/ms", "tflop16/s"], "matmul.hatchet"))

Times are those between CUDA events around each launch, and around scopes in which nothing of ours is launched (cuBLAS, torch); on the
emulator its estimates. Triton asks CUPTI, which sees the kernels of libraries by name and no gap between launches.
"""

from __future__ import annotations

from minitriton.as_triton.profiler import viewer
from minitriton.as_triton.profiler.sessions import (
    DEFAULT_PROFILE_NAME,
    activate,
    cpu_timed_scope,
    deactivate,
    enter_scope,
    enter_state,
    exit_scope,
    exit_state,
    finalize,
    profile,
    scope,
    start,
    state,
)

__all__ = [
    "DEFAULT_PROFILE_NAME", "activate", "cpu_timed_scope", "deactivate", "enter_scope", "enter_state", "exit_scope",
    "exit_state", "finalize", "profile", "scope", "start", "state", "viewer",
]  # fmt: skip
