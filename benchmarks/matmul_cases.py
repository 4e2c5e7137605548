"""The matmuls that `matmul.py` measures: tensors, launches of `minitriton_kernels/matmul.py`, torch's own way.

Tiles and warps are those of Triton's tutorials 03 and 09 for large matmuls, and the usual ones for few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Tensors = dict[str, Any]


@dataclass(frozen=True)
class Tile:
    """BM, BN, BK, warps and stages of a kernel."""

    m: int
    n: int
    k: int
    warps: int = 8
    stages: int = 3

    def keywords(self) -> dict[str, int]:
        return {
            "BM": self.m,
            "BN": self.n,
            "BK": self.k,
            "GROUP": 8,
            "num_warps": self.warps,
            "num_stages": self.stages,
        }


@dataclass(frozen=True)
class Matmul:
    """`launch(kernels, tensors, **options)` starts one run into `tensors["c"]` and gives the compiled kernel; `library` gives torch's
    result."""

    name: str
    tile: Tile
    operations: int
    make: Callable[[], Tensors]
    launch: Callable[..., Any]
    library: Callable[[Tensors], Any]
    tolerance: float = 1e-2


_FP8_STEP = 2.0**-14 / 32
"""How far a sum of matmuls of fp8 numbers may be off for each element of K, relative to the largest sum: Hopper's tensor cores keep 14 bits of
a sum, and cut off the rest with each instruction, of 32 elements (DeepSeek-V3 report, section 3.5.2, names the 14). torch adds every 128 in f32."""


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _random(kind: str, *shape: int) -> Any:
    """Random numbers of a torch dtype on the GPU."""
    import torch

    dtype = getattr(torch, kind)
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, dtype=dtype, device="cuda")
    return torch.randn(shape, device="cuda").to(dtype)


def _plain(kind: str, m: int, n: int, k: int, tile: Tile, column_b: bool = False, out: str = "") -> Matmul:
    """By pointers; `column_b`: b lies column by column."""

    def make() -> Tensors:
        import torch

        b = _random(kind, n, k).T if column_b else _random(kind, k, n)
        return {
            "a": _random(kind, m, k),
            "b": b,
            "c": torch.empty(m, n, dtype=getattr(torch, out or kind), device="cuda"),
        }

    def launch(kernels: Any, t: Tensors, **options: Any) -> Any:
        tl = kernels.tl
        accumulator = tl.int32 if kind == "int8" else tl.float32
        a, b, c = t["a"], t["b"], t["c"]
        grid = (_cdiv(m, tile.m) * _cdiv(n, tile.n),)
        strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0))
        return kernels.matmul[grid](a, b, c, m, n, k, *strides, ACC=accumulator, **tile.keywords(), **options)

    layout = " b column by column" if column_b else ""
    if tile != LARGE:
        layout += f" by {tile.m}x{tile.n}"
    tolerance = k * _FP8_STEP if kind.startswith("float8") else 1e-2
    return Matmul(f"{kind} {m}x{n}x{k}{layout}", tile, 2 * m * n * k, make, launch, _torch_matmul, tolerance)


def _torch_matmul(t: Tensors) -> Any:
    """torch's matmul of a and b in the type of c."""
    import torch

    a, b = t["a"], t["b"]
    if a.dtype == torch.int8 and b.dtype == torch.int8:
        return torch._int_mm(a, b)
    if a.dtype.itemsize == 1 and a.dtype != torch.int8:
        one = torch.ones((), device=a.device)
        return torch._scaled_mm(a, b, one, one, out_dtype=t["c"].dtype)
    return a.to(b.dtype) @ b


def descriptor_of(kernels: Any) -> Callable[[Any, list[int]], Any]:
    """What makes a tensor descriptor for the compiler of `kernels`."""
    return import_module(f"{kernels.triton.__name__}.tools.tensor_descriptor").TensorDescriptor.from_tensor


def matmul_by_descriptors(kind: str, m: int, n: int, k: int, tile: Tile) -> Matmul:
    """By tensor copies, with as many programs as the GPU runs at once; b lies column by column."""

    def make() -> Tensors:
        import torch

        return {
            "a": _random(kind, m, k),
            "b": _random(kind, n, k).T,
            "c": torch.empty(m, n, dtype=getattr(torch, kind), device="cuda"),
        }

    def launch(kernels: Any, t: Tensors, **options: Any) -> Any:
        import torch

        programs = torch.cuda.get_device_properties(0).multi_processor_count
        descriptor = descriptor_of(kernels)
        blocks = ((tile.m, tile.k), (tile.n, tile.k), (tile.m, tile.n))
        a, b, c = (descriptor(x, list(s)) for x, s in zip((t["a"], t["b"].T, t["c"]), blocks, strict=True))
        grid = (min(programs, _cdiv(m, tile.m) * _cdiv(n, tile.n)),)
        return kernels.matmul_descriptors[grid](a, b, c, m, n, k, PROGRAMS=programs, **tile.keywords(), **options)

    return Matmul(f"{kind} {m}x{n}x{k} by descriptors", tile, 2 * m * n * k, make, launch, _torch_matmul)


def _widened(kind: str, m: int, n: int, k: int, tile: Tile, by_descriptors: bool = False) -> Matmul:
    """A of narrower numbers, b of bf16."""

    def make() -> Tensors:
        import torch

        return {
            "a": _random(kind, m, k),
            "b": _random("bfloat16", k, n),
            "c": torch.empty(m, n, dtype=torch.bfloat16, device="cuda"),
        }

    def launch(kernels: Any, t: Tensors, **options: Any) -> Any:
        a, b, c = t["a"], t["b"], t["c"]
        grid = (_cdiv(m, tile.m) * _cdiv(n, tile.n),)
        if not by_descriptors:
            return kernels.matmul_widened[grid](a, b, c, m, n, k, k, n, n, **tile.keywords(), **options)
        descriptor = descriptor_of(kernels)
        blocks = ((tile.m, tile.k), (tile.k, tile.n), (tile.m, tile.n))
        a, b, c = (descriptor(x, list(s)) for x, s in zip((a, b, c), blocks, strict=True))
        return kernels.matmul_widened_descriptors[grid](a, b, c, m, n, k, **tile.keywords(), **options)

    way = " by descriptors" if by_descriptors else ""
    return Matmul(f"{kind} by bfloat16 {m}x{n}x{k}{way}", tile, 2 * m * n * k, make, launch, _torch_matmul)


def _int4(m: int, n: int, k: int, tile: Tile) -> Matmul:
    """A of 4 bits with a scale for each BK of a row, b of bf16."""

    def make() -> Tensors:
        import torch

        packed, scale = _random("int8", m, k // 2), torch.rand(m, k // tile.k, device="cuda").to(torch.bfloat16)
        codes = torch.stack(((packed << 4) >> 4, packed >> 4), -1).reshape(m, k)
        wide = codes.to(torch.bfloat16) * scale.repeat_interleave(tile.k, 1)
        return {
            "packed": packed, "scale": scale, "a": wide, "b": _random("bfloat16", k, n),
            "c": torch.empty(m, n, dtype=torch.bfloat16, device="cuda"),
        }  # fmt: skip

    def launch(kernels: Any, t: Tensors, **options: Any) -> Any:
        grid = (_cdiv(m, tile.m) * _cdiv(n, tile.n),)
        operands = (t["packed"], t["scale"], t["b"], t["c"])
        return kernels.matmul_int4[grid](*operands, m, n, k, k // 2, n, n, **tile.keywords(), **options)

    return Matmul(f"int4 by bfloat16 {m}x{n}x{k}", tile, 2 * m * n * k, make, launch, _torch_matmul)


def _batched(kind: str, batch: int, m: int, n: int, k: int, tile: Tile) -> Matmul:
    def make() -> Tensors:
        import torch

        c = torch.empty(batch, m, n, dtype=getattr(torch, kind), device="cuda")
        return {"a": _random(kind, batch, m, k), "b": _random(kind, batch, k, n), "c": c}

    def launch(kernels: Any, t: Tensors, **options: Any) -> Any:
        grid = (_cdiv(m, tile.m) * _cdiv(n, tile.n), batch)
        return kernels.matmul_batched[grid](
            t["a"], t["b"], t["c"], m, n, k, m * k, k * n, m * n, **tile.keywords(), **options
        )

    return Matmul(f"{kind} {batch} of {m}x{n}x{k}", tile, 2 * batch * m * n * k, make, launch, _torch_matmul)


def _grouped(kind: str, sizes: list[tuple[int, int, int]], tile: Tile) -> Matmul:
    """Matmuls of several sizes in one launch, as many programs as the GPU has multiprocessors; c has all results."""

    def make() -> Tensors:
        import torch

        t: Tensors = {"c": torch.empty(sum(m * n for m, n, _ in sizes), dtype=getattr(torch, kind), device="cuda")}
        t["pairs"] = [(_random(kind, m, k), _random(kind, k, n)) for m, n, k in sizes]
        at, rows = t["c"].data_ptr(), []
        for (m, n, _), (a, b) in zip(sizes, t["pairs"], strict=True):
            rows.append([a.data_ptr(), b.data_ptr(), at])
            at += m * n * t["c"].element_size()
        t["addresses"] = torch.tensor(rows, dtype=torch.int64, device="cuda")
        t["sizes"] = torch.tensor(sizes, dtype=torch.int32, device="cuda")
        return t

    def launch(kernels: Any, t: Tensors, **options: Any) -> Any:
        import torch

        programs = torch.cuda.get_device_properties(0).multi_processor_count
        names = {"float16": kernels.tl.float16, "bfloat16": kernels.tl.bfloat16}
        return kernels.matmul_grouped[(programs,)](
            t["addresses"], t["sizes"], len(sizes), PROGRAMS=programs, KIND=names[kind], **tile.keywords(), **options
        )

    def library(t: Tensors) -> Any:
        import torch

        return torch.cat([(a @ b).view(-1) for a, b in t["pairs"]])

    operations = sum(2 * m * n * k for m, n, k in sizes)
    return Matmul(f"{kind} {len(sizes)} matmuls of different sizes", tile, operations, make, launch, library)


def drawn_matmul(kind: str, m: int, n: int, k: int, tile: Tile, column_b: bool) -> Matmul:
    """A matmul of one kind by any tile: of `kind`, "int8 by bfloat16", or "descriptors" for bf16 by tensor copies."""
    if kind == "descriptors":
        return matmul_by_descriptors("bfloat16", m, n, k, tile)
    if kind == "int8 by bfloat16":
        return _widened("int8", m, n, k, tile)
    if kind == "float8_e4m3fn":
        return _plain(kind, m, n, k, tile, column_b=True, out="float16")
    return _plain(kind, m, n, k, tile, column_b or kind == "int8", out="int32" if kind == "int8" else "")


LARGE = Tile(128, 256, 64)
EXPERTS = [(512 * (1 + i % 4), 2048 if i % 2 else 4096, 2048) for i in range(16)]


def matmuls(most: int = 1 << 20) -> list[Matmul]:
    """Every case, in the order of the table; no side of a matrix longer than `most`."""

    def plain(kind: str, m: int, n: int, k: int, tile: Tile, column_b: bool = False, out: str = "") -> Matmul:
        return _plain(kind, min(m, most), min(n, most), min(k, most), tile, column_b, out)

    big, half = min(8192, most), min(4096, most)
    experts = [(min(m, most), min(n, most), min(k, most)) for m, n, k in EXPERTS]
    return [
        *(
            plain(kind, m, n, k, LARGE)
            for kind in ("float16", "bfloat16")
            for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512), (1024, 1024, 16384))
        ),
        plain("float16", 4096, 4096, 4096, LARGE, column_b=True),
        plain("float16", 16, 8192, 8192, Tile(16, 64, 128, 4, 4)),
        plain("float16", 64, 8192, 8192, Tile(64, 64, 128, 4, 4)),
        plain("float32", 4096, 4096, 4096, Tile(128, 256, 32), column_b=True),
        plain("float32", 4096, 4096, 4096, Tile(128, 256, 32)),
        plain("float32", 4096, 4096, 4096, Tile(256, 128, 32)),
        plain("float32", 4096, 4096, 4096, Tile(128, 128, 32)),
        plain("float8_e4m3fn", 8192, 8192, 8192, Tile(128, 256, 128, 8, 3), column_b=True, out="float16"),
        plain("float8_e4m3fn", 4096, 4096, 4096, Tile(128, 256, 128, 8, 3), column_b=True, out="float16"),
        plain("int8", 8192, 8192, 8192, Tile(128, 256, 128, 8, 3), column_b=True, out="int32"),
        matmul_by_descriptors("float16", half, half, half, LARGE),
        matmul_by_descriptors("float16", big, big, big, LARGE),
        matmul_by_descriptors("bfloat16", big, big, min(512, most), LARGE),
        _widened("int8", big, big, big, Tile(128, 128, 64, 8, 3)),
        _widened("int8", big, big, big, Tile(128, 128, 64, 8, 3), by_descriptors=True),
        _widened("int8", 64, big, big, Tile(64, 128, 64, 4, 4)),
        _int4(half, half, half, Tile(128, 128, 64, 8, 3)),
        _grouped("float16", experts, Tile(128, 128, 64, 8, 3)),
        _batched("float16", 16, min(1024, most), min(1024, most), min(1024, most), Tile(128, 128, 64, 8, 3)),
    ]
