"""Instructions of the assembled kernels (SASS), with a pass of minitriton's own and without it. Needs no GPU, but the wheel of Triton for `nvdisasm`.

    python benchmarks/machine_code.py [SUBSTRING ...] --without PASS

`static` counts what is in the cubin. `straight` counts what a thread goes through that takes every branch forward: the kernel itself, and
a routine (division of 64 bits) as often as it is called. Of a kernel with loops it is a count of one round.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from emulated import compiled, launches
from host_arrays import HostArrays
from workloads import small_workloads

_SECTION = re.compile(r"\.section\s+\.text\.(\w+)")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*);")
_CALL = re.compile(r"CALL\S*\s+`\((\w+)\)")


def disassembled(cubin: bytes) -> dict[str, list[str]]:
    """The instructions of each function of a cubin, without what only pads."""
    import triton

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout
    functions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if (section := _SECTION.search(line)) is not None:
            current = functions.setdefault(section[1], [])
        elif (found := _INSTRUCTION.search(line)) is not None and found[1].strip() != "NOP":
            current.append(found[1])
    return functions


def counts(kernel: Any) -> tuple[int, int]:
    """Instructions in the cubin, and on the way of a thread."""
    functions = disassembled(kernel.asm["cubin"])
    body = functions[kernel.metadata.name]
    called = [found[1] for line in body if (found := _CALL.search(line)) is not None]
    return sum(map(len, functions.values())), len(body) + sum(len(functions[name]) for name in called)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--without", required=True, help="the pass to leave out")
    arguments = parser.parse_args()
    print(f"{'workload':44} {'static':>7} {'without':>8} {'straight':>9} {'without':>8}")
    for workload in small_workloads():
        if arguments.names and not any(name in workload.name for name in arguments.names):
            continue
        for launch in launches(workload, workload.make(HostArrays(0))):
            ours = counts(compiled(workload.file, launch, "minitriton", {}))
            before = counts(compiled(workload.file, launch, "minitriton", {"without": arguments.without}))
            name = f"{workload.name}: {launch.kernel}"
            print(f"{name:44} {ours[0]:7} {before[0]:8} {ours[1]:9} {before[1]:8}", flush=True)


if __name__ == "__main__":
    main()
