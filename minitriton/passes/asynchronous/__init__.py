"""Passes over what runs asynchronously on Hopper: tensor copies, `wgmma`, and the warps that wait for them.

| pass | |
|---|---|
| `hoist_tma_copies` | a tensor copy starts earlier and is waited for later |
| `hoist_loop_copies` | tensor copies of a loop start before what threads compute |
| `sink_dot_waits` | a dot is waited for where its result is first needed |
| `hold_wgmma_registers` | registers of operand A are not written while a dot reads them |
| `guard_dot_loops` | no wait where a loop of dots did not run |
| `share_pointer_steps` | one counter for pointers that move alike, so that accumulators keep their registers |
| `share_tensor_copies` | the boxes of a copy are started by as many warps |
| `first_warp_barriers` | only the warp that starts copies waits for the others |
| `alternate_warp_groups` | two warp groups take turns at the tensor cores |

What they ask (which dots are in flight, what they read, which wait covers them, which slot is whose) is `minitriton.analysis.in_flight`.
"""
