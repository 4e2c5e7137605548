"""`minitriton-split-chains` and `minitriton-tile-loops` on kernels with long chains: GEMM, attention, fused MLP, int4 and int8 weights, tiles of rows.

    python benchmarks/chains.py --dry-run [NAME ...]                   registers, spills, instructions by ptxas; bits on the emulator at small sizes
    python benchmarks/chains.py [NAME ...] [--seconds 300] [--json F]  on a GPU: each variant in turns, and whether it has the bits of the first one

Each kernel is compiled as code of sm_80 and of sm_90, in parallel processes, before anything is timed; `--arch` takes one of them. On Hopper the PTX
of sm_80 is assembled for Hopper. The first variant has neither pass, `default` is the pipeline as it is, the others have one pass with
these options. `--variant NAME=PASS{OPTIONS}` adds one, `--only-variants A,B` takes some. Needs no torch: it calls the driver itself.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from contest import balanced_orders

KERNELS = Path(__file__).with_name("chain_kernels")
PASSES = ("minitriton-split-chains", "minitriton-tile-loops")
AFTER = "minitriton-sink-widening-casts"
ARCHITECTURES = (80, 90)

VARIANTS: dict[str, str | None] = {
    "without": "",
    "default": None,
    "split": "minitriton-split-chains{least-need=0 read-ahead=never}",
    "ahead": "minitriton-split-chains{least-need=0 read-ahead=always}",
    "tile": "minitriton-tile-loops{loop=2}",
    "tile split": "minitriton-tile-loops{loop=2},minitriton-split-chains{least-need=0 read-ahead=never}",
    "epilogue": "minitriton-tile-loops{epilogue=2}",
}
"""What stands at the end of the TTGIR stage instead of both passes; None: the pipeline as it is."""

Sizes = dict[str, int]


@dataclass(frozen=True)
class Case:
    """A kernel at a small and a large size. `arrays`: dtype and shape of each pointer, the results marked by a `!` before the dtype."""

    name: str
    kernel: str
    constexprs: dict[str, int]
    options: dict[str, Any]
    large: Sizes
    small: Sizes
    arrays: Callable[[Sizes], list[tuple[str, tuple[int, ...]]]]
    scalars: Callable[[Sizes], list[float]]
    grid: Callable[[Sizes], tuple[int, ...]]
    work: Callable[[Sizes], float] = field(default=lambda _: 0.0)
    """Floating-point operations, or bytes where there are no dots."""


def _matmul_case(
    name: str,
    kernel: str,
    kinds: tuple[str, ...],
    tile: tuple[int, int, int],
    warps: int,
    stages: int,
    **more: int,
) -> Case:
    """Of kernels whose arguments are arrays, then m, n and k; `kinds` of a, b, what belongs to b, and c."""
    bm, bn, bk = tile
    large = {"m": 4096, "n": 4096, "k": 4096}
    small = {"m": bm, "n": bn, "k": 4 * bk}

    def arrays(s: Sizes) -> list[tuple[str, tuple[int, ...]]]:
        a, b, c = (s["m"], s["k"]), (s["k"], s["n"]), (s["m"], s["n"])
        shapes = {
            "gemm": [a, b, c],
            "int8_weights": [a, b, (s["n"],), c],
            "int4_weights": [
                a,
                (s["k"] // 2, s["n"]),
                (max(1, s["k"] // 128), s["n"]),
                c,
            ],
            "gated_mlp": [a, b, b, c],
        }
        return [
            *zip(kinds[:-1], shapes[kernel][:-1], strict=True),
            ("!" + kinds[-1], c),
        ]

    dots = 2 if kernel == "gated_mlp" else 1
    return Case(
        f"{name} {bm}x{bn}x{bk} {warps}w {stages}s", kernel, {"BM": bm, "BN": bn, "BK": bk, **more},
        {"num_warps": warps, "num_stages": stages}, large, small, arrays, lambda s: [s["m"], s["n"], s["k"]],
        lambda s: (-(-s["m"] // bm) * -(-s["n"] // bn),), lambda s: 2.0 * dots * s["m"] * s["n"] * s["k"],
    )  # fmt: skip


def _attention_case(rows: int, keys: int, width: int, warps: int, stages: int) -> Case:
    def arrays(s: Sizes) -> list[tuple[str, tuple[int, ...]]]:
        shape = (s["heads"], s["length"], width)
        return [("f16", shape), ("f16", shape), ("f16", shape), ("!f16", shape)]

    return Case(
        f"attention {rows}x{keys} d{width} {warps}w {stages}s", "attention", {"BM": rows, "BN": keys, "D": width},
        {"num_warps": warps, "num_stages": stages}, {"heads": 4096 // width, "length": 4096}, {"heads": 1, "length": max(rows, 3 * keys)},
        arrays, lambda s: [s["length"], 0.125], lambda s: (s["length"] // rows, s["heads"]),
        lambda s: 4.0 * s["heads"] * s["length"] ** 2 * width,
    )  # fmt: skip


def _mlp_case(rows: int, inner: int, width: int, warps: int, stages: int) -> Case:
    def arrays(s: Sizes) -> list[tuple[str, tuple[int, ...]]]:
        return [
            ("f16", (s["m"], width)),
            ("f16", (width, s["hidden"])),
            ("f16", (s["hidden"], width)),
            ("!f16", (s["m"], width)),
        ]

    return Case(
        f"mlp {rows}x{inner} d{width} {warps}w {stages}s", "mlp", {"BM": rows, "BH": inner, "D": width},
        {"num_warps": warps, "num_stages": stages}, {"m": 32768, "hidden": 4096}, {"m": rows, "hidden": 3 * inner},
        arrays, lambda s: [s["m"], s["hidden"]], lambda s: (s["m"] // rows,), lambda s: 4.0 * s["m"] * s["hidden"] * width,
    )  # fmt: skip


def _decode_case(block: int, warps: int, stages: int) -> Case:
    def arrays(s: Sizes) -> list[tuple[str, tuple[int, ...]]]:
        keys = (s["heads"], s["length"], 128)
        return [
            ("f16", (s["heads"], 128)),
            ("f16", keys),
            ("f16", keys),
            ("!f16", (s["heads"], 128)),
        ]

    return Case(
        f"decode attention {block} {warps}w {stages}s", "decode_attention", {"D": 128, "BLOCK": block},
        {"num_warps": warps, "num_stages": stages}, {"heads": 256, "length": 4096}, {"heads": 1, "length": 3 * block},
        arrays, lambda s: [s["length"], 0.125], lambda s: (s["heads"],), lambda s: 4.0 * s["heads"] * s["length"] * 128,
    )  # fmt: skip


def _rope_case(rows: int, warps: int) -> Case:
    def arrays(s: Sizes) -> list[tuple[str, tuple[int, ...]]]:
        x, angles = (s["tokens"] * 8, 256), (s["tokens"], 128)
        return [("bf16", x), ("bf16", angles), ("bf16", angles), ("!bf16", x)]

    return Case(
        f"rope {rows} rows {warps}w", "rope", {"ROWS": rows, "HALF": 128}, {"num_warps": warps}, {"tokens": 20000}, {"tokens": rows // 8},
        arrays, lambda s: [s["tokens"], 8], lambda s: (-(-s["tokens"] * 8 // rows),), lambda s: 2 * 2 * s["tokens"] * 8 * 256,
    )  # fmt: skip


def _swiglu_case(rows: int, columns: int, warps: int) -> Case:
    return Case(
        f"swiglu {rows}x{columns} {warps}w", "swiglu", {"ROWS": rows, "COLUMNS": columns}, {"num_warps": warps},
        {"n": 1 << 26}, {"n": rows * columns - 5}, lambda s: [("bf16", (s["n"],)), ("bf16", (s["n"],)), ("!bf16", (s["n"],))],
        lambda s: [s["n"]], lambda s: (-(-s["n"] // (rows * columns)),), lambda s: 6.0 * s["n"],
    )  # fmt: skip


def _column_sum_case(rows: int, columns: int, warps: int) -> Case:
    return Case(
        f"column sum {rows}x{columns} {warps}w", "column_sum", {"ROWS": rows, "COLUMNS": columns}, {"num_warps": warps},
        {"rows": 16384, "columns": 16384}, {"rows": 2 * rows, "columns": columns},
        lambda s: [("f16", (s["rows"], s["columns"])), ("!f32", (s["columns"],))],
        lambda s: [s["rows"], s["columns"]], lambda s: (s["columns"] // columns,), lambda s: 2.0 * s["rows"] * s["columns"],
    )  # fmt: skip


F16, INT8, INT4, GATED = (
    ("f16",) * 3,
    ("bf16", "i8", "bf16", "bf16"),
    ("f16", "i8", "f16", "f16"),
    ("f16",) * 4,
)
CASES = [
    *(_matmul_case("gemm", "gemm", F16, tile, warps, stages, COLUMN_B=column) for tile, warps, stages, column in (
        ((128, 128, 64), 4, 3, 0), ((128, 256, 64), 8, 3, 0), ((128, 128, 32), 8, 5, 0), ((64, 64, 64), 4, 3, 0), ((64, 128, 64), 4, 3, 0),
        ((128, 128, 64), 8, 3, 0), ((32, 128, 64), 4, 3, 0), ((32, 256, 64), 4, 3, 0), ((16, 128, 128), 4, 4, 0), ((256, 64, 32), 4, 4, 0),
    )),
    _matmul_case("gemm b transposed", "gemm", F16, (128, 128, 64), 4, 3, COLUMN_B=1),
    _matmul_case("gemm b transposed", "gemm", F16, (32, 128, 64), 4, 3, COLUMN_B=1),
    *(_attention_case(*each) for each in ((128, 64, 64, 4, 3), (128, 64, 128, 4, 3), (128, 128, 128, 8, 3), (64, 64, 64, 4, 3), (64, 64, 128, 4, 2))),
    *(_matmul_case("gated mlp", "gated_mlp", GATED, tile, warps, stages) for tile, warps, stages in (
        ((128, 128, 64), 8, 3), ((64, 128, 64), 4, 3), ((128, 64, 64), 4, 3), ((32, 128, 64), 4, 3),
    )),
    *(_mlp_case(*each) for each in ((128, 64, 128, 8, 3), (128, 64, 128, 4, 2), (64, 64, 128, 4, 3))),
    *(_matmul_case("int4", "int4_weights", INT4, tile, warps, stages, GROUP=128) for tile, warps, stages in (
        ((128, 128, 64), 8, 3), ((64, 128, 128), 4, 3), ((128, 128, 128), 4, 3), ((16, 128, 128), 4, 4), ((32, 64, 128), 4, 4),
    )),
    *(_matmul_case("int8", "int8_weights", INT8, tile, warps, stages) for tile, warps, stages in (
        ((128, 128, 64), 8, 3), ((64, 128, 128), 4, 3), ((16, 128, 128), 4, 4), ((128, 128, 128), 8, 3),
    )),
    _decode_case(128, 2, 2), _decode_case(64, 4, 3),
    _rope_case(32, 2), _rope_case(32, 4), _swiglu_case(64, 128, 2), _swiglu_case(64, 128, 4),
    _column_sum_case(512, 32, 8), _column_sum_case(128, 64, 4),
]  # fmt: skip

_NUMPY = {"f16": np.float16, "f32": np.float32, "i8": np.int8, "bf16": np.uint16}
_SIGNATURES = {"f16": "*fp16", "f32": "*fp32", "i8": "*i8", "bf16": "*bf16"}


def inputs(case: Case, sizes: Sizes) -> list[np.ndarray]:
    """Arrays of random numbers, a million different ones at most; results are full of ones in every bit."""
    rng, made = np.random.default_rng(0), []
    for kind, shape in case.arrays(sizes):
        dtype = _NUMPY[kind.lstrip("!")]
        count = min(math.prod(shape), 1 << 20)
        if kind.startswith("!"):
            array = np.empty(shape, dtype)
            array.view(np.uint8)[...] = 0xFF
        elif kind == "i8":
            array = np.resize(rng.integers(-128, 128, count, np.int8), shape)
        else:
            wide = rng.standard_normal(count, np.float32)
            narrow = (wide.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else wide.astype(dtype)
            array = np.resize(narrow, shape)
        made.append(array)
    return made


@dataclass(frozen=True)
class Built:
    """A compiled variant. `cubin` is for the GPU, of the assembler that the pipeline names."""

    name: str
    ptx: str
    shared: int
    threads: int
    cubin: bytes = b""
    error: str = ""
    seconds: float = 0.0


def build(case: Case, arch: int, spec: str | None, sizes: Sizes, assembler: str = "") -> Built:
    """Compiles a variant for `arch`; with an assembler (`default`: minitriton's own choice) its cubin for Hopper."""
    from minitriton import knobs
    from minitriton.compiler import ASTSource, compile
    from minitriton.pipeline.pass_manager import Hook
    from minitriton.pipeline.pipelines import pipeline_for
    from minitriton.pipeline.stages import assemble
    from minitriton.target import CUDAOptions, GPUTarget
    from minitriton_kernels.cases import load_kernels

    kernel = getattr(load_kernels(str(KERNELS), "minitriton"), case.kernel)
    signature = dict.fromkeys(kernel.arg_names, "constexpr")
    attributes: dict[tuple[int, ...], Any] = {}
    given: list[Any] = [_SIGNATURES[kind.lstrip("!")] for kind, _ in case.arrays(sizes)]
    given += case.scalars(sizes)
    for index, (name, value) in enumerate(zip(kernel.arg_names, given, strict=False)):
        signature[name] = value if isinstance(value, str) else "fp32" if isinstance(value, float) else "i32"
        if isinstance(value, str) or (isinstance(value, int) and value % 16 == 0):
            attributes[(index,)] = [["tt.divisibility", 16]]
    target = GPUTarget("cuda", arch, 32)
    pipeline = pipeline_for(target, CUDAOptions(**case.options))
    if spec is not None:
        for name in PASSES:
            if name in str(pipeline):
                pipeline = pipeline.skip(name)
        for step in reversed(spec.split(",") if spec else []):
            pipeline = pipeline.insert(step, after=AFTER)
    start = time.perf_counter()
    try:
        with knobs.compilation.scope():
            knobs.compilation.disable_line_info = True
            made = compile(
                ASTSource(kernel, signature, case.constexprs, attributes), target, {**case.options, "pipeline": str(pipeline)},
                hooks=[Hook()], assemble=False,
            )  # fmt: skip
        ptx = made.asm["ptx"]
        cubin = b""
        if assembler:
            by = "" if assembler == "default" else f" assembler={assembler}"
            cubin = bytes(assemble(ptx, f"assemble-ptx{{arch=90{by}}}"))
        threads = math.prod(int(n) for n in re.findall(r"\.reqntid ([\d, ]+)", ptx)[0].split(","))
    except Exception as error:
        return Built("", "", 0, 0, error=f"{type(error).__name__}: {error}"[:300])
    return Built(
        made.metadata.name,
        ptx,
        made.metadata.shared,
        threads,
        cubin,
        seconds=time.perf_counter() - start,
    )


# Without a GPU


def machine_code(ptx: str, arch: int) -> dict[str, int]:
    """What the `ptxas` of Triton's wheel, or that of the path, makes of PTX, for its own architecture."""
    try:
        import triton

        tool = str(Path(triton.__file__).parent / "backends/nvidia/bin/ptxas")
    except ImportError:
        tool = "ptxas"
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(ptx)
        name = f"sm_{arch}a" if arch == 90 else f"sm_{arch}"
        said = subprocess.run(
            [tool, "-v", f"-arch={name}", str(text), "-o", str(cubin)],
            check=True,
            capture_output=True,
            text=True,
        ).stderr
        found = {
            "registers": int(re.findall(r"Used (\d+) registers", said)[0]),
            "spills": int(re.findall(r"(\d+) bytes spill stores", said)[0]),
            "instructions": 0,
        }
        if Path(tool).is_file():
            listing = subprocess.run(
                [Path(tool).with_name("nvdisasm"), "-c", str(cubin)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            found["instructions"] = len(re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?!NOP)\S", listing))
    return found


def emulated(case: Case, built: Built) -> list[bytes]:
    """The bits of the results of a small launch. Raises for a finding."""
    from minitriton import emulator

    arrays = inputs(case, case.small)
    report = emulator.run(
        built.ptx,
        None,
        case.grid(case.small),
        [*arrays, *case.scalars(case.small)],
        built.shared,
        scratch=1 << 16,
    )
    if not report.ok:
        raise RuntimeError(f"{case.name}: {report.findings}"[:600])
    return [a.tobytes() for a, (kind, _) in zip(arrays, case.arrays(case.small), strict=True) if kind.startswith("!")]


def dry_row(case: Case, arch: int, variants: Mapping[str, str | None]) -> dict[str, Any]:
    """Of each variant what ptxas makes of it, and whether it has the bits of the first one."""
    row: dict[str, Any] = {"name": case.name, "arch": arch}
    texts: dict[str, str] = {}
    first: list[bytes] | None = None
    for name, spec in variants.items():
        large = build(case, arch, spec, case.large)
        if large.error:
            row[name] = {"error": large.error}
            continue
        texts[name] = large.ptx
        is_same = next(
            (row[other] for other, text in texts.items() if other != name and text == large.ptx),
            None,
        )
        if is_same is not None:
            row[name] = {**is_same, "same code": True}
            continue
        row[name] = machine_code(large.ptx, arch)
        try:
            bits = emulated(case, build(case, arch, spec, case.small))
            first = bits if first is None else first
            row[name]["equal"] = bits == first
        except Exception as error:
            row[name]["error"] = f"{type(error).__name__}: {error}"[:300]
    return row


def dry_line(row: dict[str, Any], variants: Mapping[str, str | None]) -> str:
    """`name  registers/spills/instructions` of each variant; `=`: the same code as another, `!`: other bits."""
    cells: list[str] = []
    for name in variants:
        found = row[name]
        if "error" in found:
            cells.append(found["error"][:60])
            continue
        mark = "=" if found.get("same code") else "" if found.get("equal") else "!"
        cells.append(f"{found['registers']}/{found['spills']}/{found['instructions']}{mark}")
    return f"sm_{row['arch']} {row['name']:36}" + "".join(f"{cell:>20}" for cell in cells)


# On a GPU


class Device:
    """The first GPU, by the driver's own interface."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check("cuDeviceGet", ctypes.byref(device), 0)
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.check("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self.check("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.check("cuEventCreate", ctypes.byref(event), 0)

    def check(self, name: str, *arguments: Any) -> None:
        """Raises unless the driver's answer is 0."""
        code = getattr(self.cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: error {code}")

    def array(self, host: np.ndarray) -> ctypes.c_uint64:
        """A copy of `host` on the GPU."""
        address = ctypes.c_uint64()
        self.check(
            "cuMemAlloc_v2",
            ctypes.byref(address),
            ctypes.c_size_t(max(host.nbytes, 256)),
        )
        self.check(
            "cuMemcpyHtoD_v2",
            address,
            host.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(host.nbytes),
        )
        return address

    def fetched(self, address: ctypes.c_uint64, size: int) -> bytes:
        """What an array holds."""
        buffer = ctypes.create_string_buffer(size)
        self.check("cuMemcpyDtoH_v2", buffer, address, ctypes.c_size_t(size))
        return buffer.raw

    def free(self, address: ctypes.c_uint64) -> None:
        self.check("cuMemFree_v2", address)

    def launcher(
        self, built: Built, grid: tuple[int, ...], values: list[Any]
    ) -> tuple[Callable[[], None], dict[str, int]]:
        """Starts the kernel on `values`; and its registers and bytes of local memory."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check("cuModuleLoadData", ctypes.byref(module), built.cubin)
        self.check("cuModuleGetFunction", ctypes.byref(function), module, built.name.encode())
        if built.shared > 48 * 1024:
            self.check("cuFuncSetAttribute", function, 8, built.shared)
        taken: dict[str, int] = {}
        for name, attribute in (("registers", 4), ("local", 3)):
            number = ctypes.c_int()
            self.check("cuFuncGetAttribute", ctypes.byref(number), attribute, function)
            taken[name] = number.value
        scratch = [ctypes.c_uint64(0), ctypes.c_uint64(0)]
        everything = [*values, *scratch]
        pointers = (ctypes.c_void_p * len(everything))(
            *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in everything)
        )
        sizes = (*grid, 1, 1, 1)[:3]

        def start(_: Any = (everything, module)) -> None:
            self.check(
                "cuLaunchKernel",
                function,
                *sizes,
                built.threads,
                1,
                1,
                built.shared,
                None,
                pointers,
                None,
            )

        return start, taken

    def milliseconds(self, start: Callable[[], None], times: int) -> float:
        """Of one launch, of `times` in a row."""
        first, last = self.events
        self.check("cuEventRecord", first, None)
        for _ in range(times):
            start()
        self.check("cuEventRecord", last, None)
        self.check("cuEventSynchronize", last)
        taken = ctypes.c_float()
        self.check("cuEventElapsedTime", ctypes.byref(taken), first, last)
        return taken.value / times


def timed_row(device: Device, case: Case, arch: int, built: Mapping[str, Built], seconds: float) -> dict[str, Any]:
    """The row of `_timed`; its arrays are freed."""
    hosts = inputs(case, case.large)
    addresses = [device.array(host) for host in hosts]
    try:
        return _timed(device, case, arch, built, seconds, hosts, addresses)
    finally:
        for address in addresses:
            device.free(address)


def _timed(
    device: Device,
    case: Case,
    arch: int,
    built: Mapping[str, Built],
    seconds: float,
    hosts: list[np.ndarray],
    addresses: list[Any],
) -> dict[str, Any]:
    """Milliseconds of each variant, in turns until `seconds` are over, and whether it has the bits of the first one. Equal code is timed once."""
    row: dict[str, Any] = {"name": case.name, "arch": arch}
    kinds = [kind for kind, _ in case.arrays(case.large)]
    scalars = [ctypes.c_float(v) if isinstance(v, float) else ctypes.c_int32(v) for v in case.scalars(case.large)]
    starts: dict[str, Callable[[], None]] = {}
    seen: dict[bytes, str] = {}
    first: list[bytes] | None = None
    for name, each in built.items():
        if each.error:
            row[name] = {"error": each.error}
            continue
        if each.cubin in seen:
            row[name] = {"as": seen[each.cubin]}
            continue
        seen[each.cubin] = name
        for kind, host, address in zip(kinds, hosts, addresses, strict=True):
            if kind.startswith("!"):
                device.check("cuMemsetD8_v2", address, 0xFF, ctypes.c_size_t(host.nbytes))
        start, taken = device.launcher(each, case.grid(case.large), [*addresses, *scalars])
        start()
        device.check("cuCtxSynchronize")
        bits = [
            device.fetched(address, host.nbytes)
            for kind, host, address in zip(kinds, hosts, addresses, strict=True)
            if kind.startswith("!")
        ]
        first = bits if first is None else first
        row[name] = {**taken, "equal": bits == first}
        starts[name] = start
    if len(starts) < 2:
        return row
    once = min(device.milliseconds(start, 3) for start in starts.values())
    times = max(1, math.ceil(10 / max(once, 1e-3)))
    rounds: dict[str, list[float]] = {name: [] for name in starts}
    end, orders, number = (
        time.perf_counter() + seconds,
        balanced_orders(list(starts)),
        0,
    )
    while number < len(orders) or time.perf_counter() < end:
        for name in orders[number % len(orders)]:
            rounds[name].append(device.milliseconds(starts[name], times))
        number += 1
    base = next(iter(rounds.values()))
    for name, found in rounds.items():
        ratio = statistics.median(b / t for b, t in zip(base, found, strict=True))
        row[name] |= {
            "ms": statistics.median(found),
            "ratio": ratio,
            "rate": case.work(case.large) / statistics.median(found) / 1e9,
        }
    return row


def timed_line(row: dict[str, Any], variants: Mapping[str, str | None]) -> str:
    """`name  milliseconds, then how many times as fast as the first variant (registers/bytes of local memory)`; `!`: other bits."""
    cells: list[str] = []
    for name in variants:
        found = row[name]
        if "error" in found:
            cells.append(found["error"][:24])
        elif "as" in found:
            cells.append(f"as {found['as']}")
        elif "ms" not in found:
            cells.append(f"({found['registers']}/{found['local']})")
        else:
            mark = "" if found["equal"] else "!"
            cells.append(f"{found['ms']:.3f} {found['ratio']:.3f} ({found['registers']}/{found['local']}){mark}")
    return f"sm_{row['arch']} {row['name']:36}" + "".join(f"{cell:>26}" for cell in cells)


def _build(job: tuple[int, int, str | None, str]) -> Built:
    index, arch, spec, assembler = job
    return build(CASES[index], arch, spec, CASES[index].large, assembler)


def summary(rows: list[dict[str, Any]], variants: Mapping[str, str | None]) -> str:
    """Of each variant the geometric mean where it changes code, the least, and how many have other bits."""
    lines: list[str] = []
    for arch in ARCHITECTURES:
        for name in list(variants)[1:]:
            found = [row[name] for row in rows if row["arch"] == arch and "ratio" in row.get(name, {})]
            if found:
                mean = math.exp(statistics.fmean(math.log(each["ratio"]) for each in found))
                worst = min(each["ratio"] for each in found)
                other = sum(not each["equal"] for each in found)
                lines.append(
                    f"sm_{arch} {name}: {mean:.3f} over {len(found)} kernels that it changes, least {worst:.3f}, other bits in {other}"
                )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU")
    parser.add_argument("--arch", type=int, choices=ARCHITECTURES)
    parser.add_argument(
        "--assembler",
        default="default",
        choices=("default", "nvjitlink", "ptxas"),
        help="of the code that is timed",
    )
    parser.add_argument("--seconds", type=float, default=300, help="of timing, in all")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=PASS{OPTIONS}")
    parser.add_argument(
        "--only-variants",
        help="names separated by commas; the first is what the others are compared with",
    )
    given = parser.parse_args()
    variants = dict(VARIANTS)
    for text in given.variant:
        name, _, spec = text.partition("=")
        variants[name] = spec
    if given.only_variants:
        variants = {name: variants[name] for name in given.only_variants.split(",")}
    chosen = [
        index for index, case in enumerate(CASES) if not given.names or any(name in case.name for name in given.names)
    ]
    architectures = [given.arch] if given.arch else list(ARCHITECTURES)
    rows: list[dict[str, Any]] = []
    print(f"{'':42}" + "".join(f"{name:>{20 if given.dry_run else 26}}" for name in variants))
    if given.dry_run:
        for arch in architectures:
            for index in chosen:
                rows.append(dry_row(CASES[index], arch, variants))
                print(dry_line(rows[-1], variants), flush=True)
        bad = [r for r in rows for v in variants if "error" in r[v] or r[v].get("equal") is False]
    else:
        jobs = [
            (index, arch, spec, given.assembler)
            for index in chosen
            for arch in architectures
            for spec in variants.values()
        ]
        with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
            built = dict(zip(jobs, pool.map(_build, jobs), strict=True))
        device = Device()
        print(f"{device.name}; compiled {len(jobs)} kernels", flush=True)
        for arch in architectures:
            for index in chosen:
                of_case = {name: built[index, arch, spec, given.assembler] for name, spec in variants.items()}
                try:
                    rows.append(
                        timed_row(
                            device,
                            CASES[index],
                            arch,
                            of_case,
                            given.seconds / (len(chosen) * len(architectures)),
                        )
                    )
                except RuntimeError as error:
                    print(f"sm_{arch} {CASES[index].name}: {error}", flush=True)
                    rows.append({"name": CASES[index].name, "arch": arch, "error": str(error)})
                    continue
                print(timed_line(rows[-1], variants), flush=True)
                if given.json:
                    given.json.write_text(json.dumps(rows, indent=1) + "\n")
        print(summary([row for row in rows if "error" not in row], variants))
        bad = [r for r in rows if "error" in r or any("error" in r[v] or r[v].get("equal") is False for v in variants)]
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
