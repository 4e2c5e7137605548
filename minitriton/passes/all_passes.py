"""Imports every module that registers a pass, so that all are known by name.

Importing this module is what `minitriton passes`, `minitriton-opt` and the pipelines do before they look a pass up.
"""

from __future__ import annotations

import minitriton.passes.accelerate_matmul
import minitriton.passes.allocate_global_scratch
import minitriton.passes.allocate_warp_groups
import minitriton.passes.alternate_warp_groups
import minitriton.passes.canonicalize
import minitriton.passes.choose_layout
import minitriton.passes.coalesce
import minitriton.passes.coalesce_async_copy
import minitriton.passes.coalesce_atomics
import minitriton.passes.coalesce_by_width
import minitriton.passes.combine
import minitriton.passes.combine_tensor_select_and_if
import minitriton.passes.convert_triton_to_tritongpu
import minitriton.passes.cse
import minitriton.passes.delay_dot_waits
import minitriton.passes.enumerate_indices
import minitriton.passes.exchange_between_ctas
import minitriton.passes.f32_dot_tc
import minitriton.passes.fence_insertion
import minitriton.passes.first_warp_barriers
import minitriton.passes.for_triton_tests.allocate_shared_memory
import minitriton.passes.for_triton_tests.proxy_fence_insertion
import minitriton.passes.for_triton_tests.scf_to_cf
import minitriton.passes.for_triton_tests.test_print_alias
import minitriton.passes.for_triton_tests.test_print_alignment
import minitriton.passes.for_triton_tests.test_print_allocation
import minitriton.passes.for_triton_tests.test_print_membar
import minitriton.passes.for_triton_tests.warp_specialization_steps
import minitriton.passes.fuse_nested_loops
import minitriton.passes.hold_wgmma_registers
import minitriton.passes.inline
import minitriton.passes.integer_ranges
import minitriton.passes.licm
import minitriton.passes.limit_registers
import minitriton.passes.loop_aware_cse
import minitriton.passes.loop_unroll
import minitriton.passes.merge_tile_axes
import minitriton.passes.optimize_descriptor_encoding
import minitriton.passes.optimize_dot_operands
import minitriton.passes.optimize_thread_locality
import minitriton.passes.outer_reduction_layout
import minitriton.passes.pipelining.assign_latencies
import minitriton.passes.pipelining.overlap_products
import minitriton.passes.pipelining.pipeline
import minitriton.passes.pipelining.schedule_loops
import minitriton.passes.plan_cta.plan_cta
import minitriton.passes.prefetch
import minitriton.passes.reduce_data_duplication
import minitriton.passes.remove_layout_conversions
import minitriton.passes.reorder_broadcast
import minitriton.passes.reorder_instructions
import minitriton.passes.rewrite_tensor_descriptor_to_pointer
import minitriton.passes.rewrite_tensor_pointer
import minitriton.passes.sccp
import minitriton.passes.simplify_integers
import minitriton.passes.stretch_copies
import minitriton.passes.symbol_dce
import minitriton.passes.tma_lowering
import minitriton.passes.transpose_by_copies
import minitriton.passes.wait_where_loops_ran
import minitriton.passes.warp_specialization.warp_specialization
import minitriton.passes.widen_late  # noqa: F401
