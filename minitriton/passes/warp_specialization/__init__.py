"""`nvgpu-warp-specialization`: loops marked `tt.warp_specialize` are run by a producer and one or two consumers, each a warp group.

    scf.for ... {                                 ttg.warp_specialize
      %a, %b = tt.descriptor_load        =>       default: for ... { wait until empty; copy %a, %b }
      %d = warp_group_dot %a, %b, %c              partition0: for ... { wait until full; dot; release }
    } {tt.warp_specialize}                        partition1: the same with the other half of the rows

In: layouts and dots on tensor cores chosen, loops not pipelined yet. Out: the same computation in regions of `ttg.warp_specialize`,
with buffers in shared memory and mbarriers between them; such loops are not pipelined any more.

| file | |
|---|---|
| `task_propagation` | which warp groups run an op: loads are the producer's, dots and stores the consumers'; what these need is theirs too |
| `partition_scheme`, `data_partition` | each consumer has a part of the rows |
| `channels`, `counts` | values that go from one to another, their order, how often they went |
| `buffers`, `communication` | memory for them, what fills and reads it, who waits for whom, by mbarriers |
| `partitions`, `code_partition` | the order of the producer's loads, a region for each task |
| `warp_specialization` | the pass, and what must hold so that the warp groups together do what the loop did |

Counterpart of third_party/nvidia/hopper/lib/Transforms/WarpSpecialization.cpp.
"""
