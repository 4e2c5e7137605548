"""What is in flight: dots on tensor cores and copies, what they read and write, which wait covers them, and which slot of a ring is whose.

| module | |
|---|---|
| `outstanding` | what is in flight at each point: `InFlight(function).before[op]` is an `Outstanding`; what a wait by tokens may leave: `groups_since(wait)` |
| `rings` | which slot of a multi-buffered buffer an iteration uses |

The rules are facts on the classes of ops (`dialects.facts.synchronization`). Five passes of `passes.asynchronous` ask
`outstanding`: sink-dot-waits, first-warp-barriers, hold-wgmma-registers, guard-dot-loops, hoist-tma-copies, hoist-loop-copies; the pipeliner asks `groups_since` and `rings`.
"""
