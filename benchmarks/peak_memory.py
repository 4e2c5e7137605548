"""Peak resident memory of a process that compiles every example kernel, in MiB. Needs no GPU.

python benchmarks/peak_memory.py
"""

from __future__ import annotations

import resource

from compile_time import compile_once

from minitriton_kernels.cases import CASES


def main() -> None:
    for case in CASES:
        compile_once(case.name, "minitriton")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{case.name:16} {peak:7.0f} MiB so far")


if __name__ == "__main__":
    main()
