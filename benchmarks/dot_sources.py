"""Kernels with dots to be compiled without a GPU: what a launch of `matmul.py` or `attention.py` compiles, written down.

In: nothing. Out: `dot_sources()`, name → `Source`. Tiles and warps are those of Triton's tutorials 03, 06 and 09.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

ALIGNED = [["tt.divisibility", 16]]


@dataclass(frozen=True)
class Source:
    """`kernel` of `minitriton_kernels/<file>.py` with a type for each parameter, `constexprs` and options.

    Pointers, and integers of parameters in `aligned`, are multiples of 16. A constexpr `"tl.float32"` is a type of the compiler's language.
    """

    file: str
    kernel: str
    signature: dict[str, str]
    constexprs: dict[str, Any]
    options: dict[str, int]
    aligned: tuple[str, ...] = ()

    def constexprs_of(self, compiler: str) -> dict[str, Any]:
        """`constexprs` with the types of `compiler` ("triton" or "minitriton")."""
        language = import_module(compiler + ".language")
        return {
            name: getattr(language, value[3:]) if isinstance(value, str) and value.startswith("tl.") else value
            for name, value in self.constexprs.items()
        }

    @property
    def attributes(self) -> dict[tuple[int, ...], list[list[object]]]:
        """By position what divides an argument."""
        return {
            (index,): ALIGNED
            for index, (name, type_) in enumerate(self.signature.items())
            if type_.startswith("*") or name in self.aligned
        }


def _source(
    file: str, kernel: str, arguments: str, aligned: str = "", warps: int = 8, stages: int = 3, **constexprs: Any
) -> Source:
    signature = dict(each.split(":", 1) for each in arguments.split())
    signature |= dict.fromkeys(constexprs, "constexpr")
    options = {"num_warps": warps, "num_stages": stages}
    return Source(file, kernel, signature, constexprs, options, tuple(aligned.split()))


def _matmul(
    kind: str, out: str = "", accumulator: str = "float32", bm: int = 128, bn: int = 256, bk: int = 64
) -> Source:
    sizes = "m n k stride_am stride_bk stride_cm"
    source = _source(
        "matmul", "matmul",
        f"a_ptr:*{kind} b_ptr:*{kind} c_ptr:*{out or kind} m:i32 n:i32 k:i32 stride_am:i32 stride_ak:constexpr "
        "stride_bk:i32 stride_bn:constexpr stride_cm:i32",
        sizes, BM=bm, BN=bn, BK=bk, GROUP=8, ACC=f"tl.{accumulator}",
    )  # fmt: skip
    source.constexprs.update(stride_ak=1, stride_bn=1)
    return source


def _attention(width: int, causal: bool, warps: int, keys: int) -> Source:
    rows, keys_ = f"tensordesc<fp16[128, {width}]>", f"tensordesc<fp16[{keys}, {width}]>"
    source = _source(
        "attention",
        "attention",
        "length:i32",
        "length",
        warps,
        3,
        BM=128,
        BN=keys,
        D=width,
        CAUSAL=causal,
        SPECIALIZE=False,
    )
    descriptors = {"q_desc": rows, "k_desc": keys_, "v_desc": keys_, "o_desc": rows, "log_sums": "*fp32"}
    rest = dict(source.signature)
    length = rest.pop("length")
    signature = {**descriptors, "length": length, "scale": "fp32", **rest}
    return Source(source.file, source.kernel, signature, source.constexprs, source.options, source.aligned)


def _descriptors() -> Source:
    source = _source(
        "matmul", "matmul_descriptors", "m:i32 n:i32 k:i32", "m n k", BM=128, BN=256, BK=64, GROUP=8, PROGRAMS=132
    )
    shapes = {"a_desc": "128, 64", "b_desc": "256, 64", "c_desc": "128, 256"}
    signature = {name: f"tensordesc<fp16[{shape}]>" for name, shape in shapes.items()} | source.signature
    return Source(source.file, source.kernel, signature, source.constexprs, source.options, source.aligned)


def _widened() -> Source:
    return _source(
        "matmul", "matmul_widened",
        "a_ptr:*i8 b_ptr:*bf16 c_ptr:*bf16 m:i32 n:i32 k:i32 stride_am:i32 stride_bk:i32 stride_cm:i32",
        "m n k stride_am stride_bk stride_cm", BM=128, BN=128, BK=64, GROUP=8,
    )  # fmt: skip


def _backward(causal: bool) -> Source:
    pointers = " ".join(f"{n}_ptr:*fp16" for n in ("q", "k", "v", "do", "dq", "dk", "dv"))
    return _source(
        "attention", "attention_backward", f"{pointers} log_sums:*fp32 delta:*fp32 length:i32 scale:fp32", "length", 4, 5,
        OUTER=128, INNER=64, D=64, CAUSAL=causal,
    )  # fmt: skip


def dot_sources() -> dict[str, Source]:
    """Name → source."""
    return {
        "matmul fp16": _matmul("fp16"),
        "matmul tf32": _matmul("fp32", bm=128, bn=128, bk=32),
        "matmul int8": _matmul("i8", "i32", "int32", bk=128),
        "matmul TMA": _descriptors(),
        "int8 by bf16": _widened(),
        "attention d64": _attention(64, False, 4, 64),
        "attention d128": _attention(128, False, 8, 128),
        "causal d128": _attention(128, True, 8, 128),
        "backward d64": _backward(True),
    }
