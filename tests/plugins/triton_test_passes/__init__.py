"""Passes that Triton's own tests run by name: a plug-in of the pass registry. Importing the package registers them, and minitriton's own.

import triton_test_passes
minitriton-opt --load tests/plugins/triton_test_passes/__init__.py --test-print-alias k.ttgir
"""

from minitriton.pipeline.pass_registry import load_own_passes
from triton_test_passes import (
    allocate_shared_memory,
    name_target,
    print_alias,
    print_alignment,
    print_allocation,
    print_amd_ranges,
    print_membar,
    proxy_fence_insertion,
    scf_to_cf,
    warp_specialization_steps,
)

__all__ = [
    "allocate_shared_memory",
    "name_target",
    "print_alias",
    "print_alignment",
    "print_allocation",
    "print_amd_ranges",
    "print_membar",
    "proxy_fence_insertion",
    "scf_to_cf",
    "warp_specialization_steps",
]

load_own_passes()
