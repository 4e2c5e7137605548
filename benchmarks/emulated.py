"""What workloads ask of a GPU's memory, side by side under both compilers, counted by the PTX emulator. Needs no GPU.

    python benchmarks/emulated.py [SUBSTRING ...] [--without PASS]

For each kernel of each workload, at a small size: instructions that warps issue, accesses of global memory (requests of a warp,
bytes a thread, 32-byte sectors a request), of shared memory (passes over the banks, of them by conflicts), shuffles, barriers, and
registers of a thread. `equal` says whether all results have the same bits.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from host_arrays import NAMES, HostArrays, HostTensor
from workload import Recorder, Tensors, Workload
from workloads import small_workloads

from minitriton import emulator
from minitriton_kernels.cases import load_kernels

OPTIONS = ("num_warps", "num_stages", "num_ctas")


@dataclass(frozen=True)
class Launch:
    """One kernel to compile and run: its signature is that of a launch on aligned arrays."""

    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    constexprs: dict[str, Any]
    options: dict[str, Any]

    def signature(self, names: list[str]) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int, ...], Any]]:
        """Types, constants and attributes, as a launch specialises them."""
        signature = dict.fromkeys(names, "constexpr")
        constants, attributes = dict(self.constexprs), {}
        for index, (name, value) in enumerate(zip(names, self.arguments, strict=False)):
            if isinstance(value, HostTensor):
                signature[name] = "*" + NAMES[value.dtype]
                attributes[(index,)] = [["tt.divisibility", 16]]
            elif value == 1 and isinstance(value, int):
                constants[name] = value
            else:
                signature[name] = "i32" if isinstance(value, int) else "fp32"
                if isinstance(value, int) and value % 16 == 0:
                    attributes[(index,)] = [["tt.divisibility", 16]]
        return signature, constants, attributes


def launches(workload: Workload, tensors: Tensors) -> list[Launch]:
    """What `workload` launches."""
    recorder = Recorder([])
    workload.launch(recorder, tensors)
    return [
        Launch(
            name, grid, args,
            {key: value for key, value in keywords.items() if key not in OPTIONS},
            {key: value for key, value in keywords.items() if key in OPTIONS},
        )
        for name, grid, args, keywords in recorder.launches
    ]  # fmt: skip


def compiled(file: str, launch: Launch, compiler: str, options: dict[str, Any]) -> Any:
    """The kernel of `launch`, compiled for Hopper."""
    kernel = getattr(load_kernels(file, compiler), launch.kernel)
    signature = launch.signature(kernel.arg_names)
    if compiler == "minitriton":
        from minitriton.compiler import ASTSource, compile
        from minitriton.target import GPUTarget

        return compile(ASTSource(kernel, *signature), GPUTarget("cuda", 90, 32), {**launch.options, **options})
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    return triton.compile(ASTSource(kernel, *signature), target=GPUTarget("cuda", 90, 32), options=launch.options)


def run(
    workload: Workload, compiler: str, options: dict[str, Any], resources: bool = True
) -> tuple[Tensors, list[dict[str, Any]]]:
    """The tensors after all launches, and the costs of each launch; `resources` asks for those of the assembled kernel too."""
    tensors = workload.make(HostArrays(0))
    costs: list[dict[str, Any]] = []
    for launch in launches(workload, tensors):
        kernel = compiled(workload.file, launch, compiler, options)
        arguments = [
            argument.array if isinstance(argument, HostTensor) else argument
            for argument in launch.arguments
            if isinstance(argument, HostTensor) or argument != 1 or isinstance(argument, float)
        ]
        report = emulator.run(kernel.asm["ptx"], None, launch.grid, arguments, kernel.metadata.shared, scratch=1 << 20)
        assert report.ok, report.findings
        assembled = resources_of(kernel.asm["cubin"]) if resources else {}
        costs.append({"kernel": launch.kernel, **cost(report), **assembled})
    return tensors, costs


def cost(report: emulator.Report) -> dict[str, Any]:
    """What one run costs, in numbers that need no hardware."""
    mix, memory, shared = report.mix(), report.total("global"), report.total("shared")
    return {
        "instructions": sum(mix.values()),
        "requests": memory.requests,
        "bytes/thread": memory.bytes / max(memory.threads, 1),
        "sectors": memory.sectors,
        "sectors/request": memory.sectors / max(memory.requests, 1),
        "shared": shared.wavefronts,
        "conflicts": shared.conflicts,
        "shuffles": sum(count for name, count in mix.items() if name.startswith("shfl")),
        "barriers": sum(count for name, count in mix.items() if name.startswith("bar")),
    }


def resources_of(cubin: bytes) -> dict[str, int]:
    """Registers of a thread and bytes that it spills, from the assembled kernel."""
    import triton

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", text)
    assert found is not None, text
    return {"registers": int(found[1]), "stack": int(found[2])}


def equal(workload: Workload, one: Tensors, other: Tensors) -> bool:
    """Whether all results have the same bits."""
    return all(np.array_equal(one[k].array.view(np.uint8), other[k].array.view(np.uint8)) for k in workload.results)


def rows(workload: Workload, without: str | None) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Per kernel and contender: its name, costs, and whether the workload's results equal minitriton's."""
    contenders: dict[str, tuple[str, dict[str, Any]]] = {"minitriton": ("minitriton", {}), "Triton": ("triton", {})}
    if without:
        contenders["without"] = ("minitriton", {"without": without})
    found = {name: run(workload, *how) for name, how in contenders.items()}
    for number in range(len(found["minitriton"][1])):
        for name, (tensors, costs) in found.items():
            yield name, costs[number], equal(workload, tensors, found["minitriton"][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--without", help="also count minitriton without this pass")
    arguments = parser.parse_args()
    heads = "instr requests B/thread sectors sect/req  shared conflicts shuffles barriers regs stack  equal"
    print(f"{'workload':36} {'':10} {heads}")
    for workload in small_workloads():
        if arguments.names and not any(n in workload.name for n in arguments.names):
            continue
        for name, c, same in rows(workload, arguments.without):
            label = f"{workload.name}: {c['kernel']}"[:36] if name == "minitriton" else ""
            print(
                f"{label:36} {name:10} {c['instructions']:5} {c['requests']:8} {c['bytes/thread']:8.1f} {c['sectors']:7} "
                f"{c['sectors/request']:8.1f} {c['shared']:7} {c['conflicts']:9} {c['shuffles']:8} {c['barriers']:8} "
                f"{c['registers']:4} {c['stack']:5}  {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
