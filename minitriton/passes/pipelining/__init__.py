"""Software pipelining of loops: loads of later iterations run while earlier ones compute.

    for i: x = load(p + i); use(x)      =>      start copy 0; start copy 1
                                                for i: start copy i + 2; wait for copy i; use(buffer[i % 3])

Three passes make it, one after the other. `assign_latencies` says which loads to pipeline and how many stages ahead they start.
`schedule_loops` gives every op of the body a stage and a cluster. `pipeline` makes the loads asynchronous (`lower_loads`) and overlaps
the stages (`expander`, `predication`). A schedule travels between passes as attributes (`schedule`). docs/pipelining.md follows two loops.
"""
