"""Imports every module that registers a pass, so that all are known by name.

Importing this module is what `minitriton passes`, `minitriton-opt` and the pipelines do before they look a pass up.

Each is imported `as` what it is called, for it is there to be loaded: nothing here names it again.
"""

from __future__ import annotations

from minitriton.passes import accelerate_matmul as accelerate_matmul
from minitriton.passes import allocate_global_scratch as allocate_global_scratch
from minitriton.passes import allocate_warp_groups as allocate_warp_groups
from minitriton.passes import alternate_warp_groups as alternate_warp_groups
from minitriton.passes import cache_hints as cache_hints
from minitriton.passes import canonicalize as canonicalize
from minitriton.passes import choose_layout as choose_layout
from minitriton.passes import coalesce as coalesce
from minitriton.passes import coalesce_async_copy as coalesce_async_copy
from minitriton.passes import coalesce_atomics as coalesce_atomics
from minitriton.passes import coalesce_by_width as coalesce_by_width
from minitriton.passes import combine as combine
from minitriton.passes import combine_tensor_select_and_if as combine_tensor_select_and_if
from minitriton.passes import convert_triton_to_tritongpu as convert_triton_to_tritongpu
from minitriton.passes import cse as cse
from minitriton.passes import delay_dot_waits as delay_dot_waits
from minitriton.passes import enumerate_indices as enumerate_indices
from minitriton.passes import exchange_between_ctas as exchange_between_ctas
from minitriton.passes import f32_dot_tc as f32_dot_tc
from minitriton.passes import fence_insertion as fence_insertion
from minitriton.passes import first_warp_barriers as first_warp_barriers
from minitriton.passes import fuse_nested_loops as fuse_nested_loops
from minitriton.passes import hold_wgmma_registers as hold_wgmma_registers
from minitriton.passes import inline as inline
from minitriton.passes import integer_ranges as integer_ranges
from minitriton.passes import keep_what_is_read_again as keep_what_is_read_again
from minitriton.passes import licm as licm
from minitriton.passes import limit_registers as limit_registers
from minitriton.passes import longest_programs_first as longest_programs_first
from minitriton.passes import loop_aware_cse as loop_aware_cse
from minitriton.passes import loop_unroll as loop_unroll
from minitriton.passes import merge_tile_axes as merge_tile_axes
from minitriton.passes import optimize_descriptor_encoding as optimize_descriptor_encoding
from minitriton.passes import optimize_dot_operands as optimize_dot_operands
from minitriton.passes import optimize_thread_locality as optimize_thread_locality
from minitriton.passes import ordered_indices as ordered_indices
from minitriton.passes import outer_reduction_layout as outer_reduction_layout
from minitriton.passes import overlap_launches as overlap_launches
from minitriton.passes import prefetch as prefetch
from minitriton.passes import reduce_data_duplication as reduce_data_duplication
from minitriton.passes import remove_layout_conversions as remove_layout_conversions
from minitriton.passes import reorder_broadcast as reorder_broadcast
from minitriton.passes import reorder_instructions as reorder_instructions
from minitriton.passes import rewrite_tensor_descriptor_to_pointer as rewrite_tensor_descriptor_to_pointer
from minitriton.passes import rewrite_tensor_pointer as rewrite_tensor_pointer
from minitriton.passes import sccp as sccp
from minitriton.passes import share_pointer_steps as share_pointer_steps
from minitriton.passes import simplify_integers as simplify_integers
from minitriton.passes import stretch_copies as stretch_copies
from minitriton.passes import symbol_dce as symbol_dce
from minitriton.passes import tma_lowering as tma_lowering
from minitriton.passes import transpose_by_copies as transpose_by_copies
from minitriton.passes import wait_where_loops_ran as wait_where_loops_ran
from minitriton.passes import widen_late as widen_late
from minitriton.passes.for_triton_tests import allocate_shared_memory as allocate_shared_memory
from minitriton.passes.for_triton_tests import proxy_fence_insertion as proxy_fence_insertion
from minitriton.passes.for_triton_tests import scf_to_cf as scf_to_cf
from minitriton.passes.for_triton_tests import test_print_alias as test_print_alias
from minitriton.passes.for_triton_tests import test_print_alignment as test_print_alignment
from minitriton.passes.for_triton_tests import test_print_allocation as test_print_allocation
from minitriton.passes.for_triton_tests import test_print_membar as test_print_membar
from minitriton.passes.for_triton_tests import warp_specialization_steps as warp_specialization_steps
from minitriton.passes.pipelining import assign_latencies as assign_latencies
from minitriton.passes.pipelining import overlap_products as overlap_products
from minitriton.passes.pipelining import pipeline as pipeline
from minitriton.passes.pipelining import schedule_loops as schedule_loops
from minitriton.passes.plan_cta import plan_cta as plan_cta
from minitriton.passes.warp_specialization import warp_specialization as warp_specialization
