"""Random encodings and shapes for hypothesis."""

from hypothesis import strategies as st

from minitriton.layouts import f2
from minitriton.layouts.builders import nvmma_shared
from minitriton.layouts.encodings import (
    Bases,
    Blocked,
    DistributedEncoding,
    DotOperand,
    NvidiaMma,
    SharedEncoding,
    Slice,
    SwizzledShared,
)
from minitriton.layouts.to_linear import to_linear_encoding

BITWIDTHS = (8, 16, 32, 64)


def power(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high).map(lambda e: 1 << e)


@st.composite
def shapes(draw: st.DrawFn, rank: int, low: int = 0) -> tuple[int, ...]:
    high = {1: 9, 2: 7, 3: 4}[rank]
    return tuple(draw(power(low, high)) for _ in range(rank))


@st.composite
def split(draw: st.DrawFn, total: int, rank: int) -> tuple[int, ...]:
    """`total` as a product of `rank` powers of two."""
    sizes = [1] * rank
    for _ in range(f2.log2(total)):
        sizes[draw(st.integers(0, rank - 1))] *= 2
    return tuple(sizes)


@st.composite
def cgas(draw: st.DrawFn, rank: int) -> Bases:
    sizes = [1] * rank
    bases = []
    for _ in range(draw(st.integers(0, 2))):
        dim = draw(st.integers(-1, rank - 1))
        basis = [0] * rank
        if dim >= 0:
            basis[dim] = sizes[dim]
            sizes[dim] *= 2
        bases.append(tuple(basis))
    return tuple(bases)


@st.composite
def blocked(draw: st.DrawFn, rank: int, warps: int, cga: bool = False) -> Blocked:
    return Blocked(
        draw(split(draw(power(0, 4)), rank)),
        draw(split(32, rank)),
        draw(split(warps, rank)),
        tuple(draw(st.permutations(range(rank)))),
        draw(cgas(rank)) if cga else (),
    )


@st.composite
def mma_v2(draw: st.DrawFn, warps: int, cga: bool = False) -> NvidiaMma:
    return NvidiaMma(2, 0, draw(split(warps, 2)), (16, 8), draw(cgas(2)) if cga else ())


@st.composite
def distributed(
    draw: st.DrawFn, rank: int, warps: int, shape: tuple[int, ...] | None = None, cga: bool = False
) -> DistributedEncoding:
    """Any distributed encoding; with `shape` also linear ones."""
    kinds = ["blocked", "blocked", "slice"] if rank < 3 else ["blocked", "batched"]
    if rank == 2:
        kinds += ["mma2", "dot_mma2", "dot_blocked"] + (["mma3", "dot_mma3"] if warps >= 4 else [])
    if shape is not None:
        kinds.append("linear")
    match draw(st.sampled_from(kinds)):
        case "slice":
            return Slice(draw(st.integers(0, rank)), draw(distributed(rank + 1, warps, cga=cga)))
        case "batched":
            mma = NvidiaMma(2, 0, draw(split(warps, 3)), (1, 16, 8), draw(cgas(3)) if cga else ())
            return draw(st.sampled_from([mma, DotOperand(0, mma, 2), DotOperand(1, mma, 4)]))
        case "mma2":
            return draw(mma_v2(warps, cga))
        case "mma3":
            return NvidiaMma(3, 0, (warps, 1), (16, draw(power(3, 7)), 16), draw(cgas(2)) if cga else ())
        case "dot_mma2":
            return DotOperand(draw(st.integers(0, 1)), draw(mma_v2(warps, cga)), draw(power(0, 2)))
        case "dot_mma3":
            return DotOperand(0, NvidiaMma(3, 0, (warps, 1), (16, 64, 16)), draw(power(0, 2)))
        case "dot_blocked":
            return DotOperand(draw(st.integers(0, 1)), draw(blocked(rank, warps, cga)))
        case "linear":
            return to_linear_encoding(draw(distributed(rank, warps, cga=cga)), shape)
        case _:
            return draw(blocked(rank, warps, cga))


@st.composite
def swizzled(draw: st.DrawFn, rank: int) -> SwizzledShared:
    order = tuple(draw(st.permutations(range(rank))))
    return SwizzledShared(draw(power(0, 3)), draw(power(0, 2)), draw(power(0, 3)), order)


@st.composite
def shared(draw: st.DrawFn, shape: tuple[int, ...], bitwidth: int) -> SharedEncoding:
    rank = len(shape)
    if rank >= 2 and draw(st.booleans()):
        inner_first = draw(st.booleans())
        order = tuple(range(rank - 1, -1, -1)) if inner_first else (0, *range(rank - 1, 0, -1))
        return nvmma_shared(shape, order, (), bitwidth)
    return draw(swizzled(rank))
