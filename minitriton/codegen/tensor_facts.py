"""What the type of a tensor says about a thread's registers.

tensor<1024xf32, #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>
element = f32    count = 8    offsets = ((0,), (1,), (2,), (3,), (512,), ...)
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from minitriton.codegen.types import scalar_type, vector_type
from minitriton.dialects.ttg import layout_of
from minitriton.errors import LoweringError
from minitriton.layouts.encodings import Encoding
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.to_linear import to_linear_layout


class LayoutFacts:
    """The registers of a thread under one layout; shared by every tensor that has it."""

    def __init__(self, layout: LinearLayout):
        self.layout = layout
        self.count = layout.get_in_dim_size("register") if layout.has_in_dim("register") else 1

    @cached_property
    def offsets(self) -> tuple[tuple[int, ...], ...]:
        """For each register what it adds to the coordinates of the thread's first register."""
        result = [(0,) * self.layout.num_out_dims]
        for basis in self.layout.bases.get("register", ()):
            result += [tuple(a ^ b for a, b in zip(seen, basis, strict=True)) for seen in result]
        return tuple(result)

    @cached_property
    def free_masks(self) -> dict[str, int]:
        """For each in-dim the bits that only make copies."""
        return self.layout.get_free_variable_masks()

    @cached_property
    def register_of(self) -> dict[tuple[int, ...], int]:
        """The first register at each offset."""
        found: dict[tuple[int, ...], int] = {}
        for register, offset in enumerate(self.offsets):
            found.setdefault(offset, register)
        return found

    @cached_property
    def thread_bases(self) -> tuple[tuple[int, ...], ...]:
        """The bases of lane and warp, which are the bits of the thread's number."""
        return tuple(self.layout.bases.get("lane", ())) + tuple(self.layout.bases.get("warp", ()))

    @cached_property
    def block_bases(self) -> tuple[tuple[int, ...], ...]:
        """The bases of the block's number in its cluster."""
        return tuple(self.layout.bases.get("block", ()))


@lru_cache(maxsize=4096)
def layout_facts(encoding: Encoding, shape: tuple[int, ...]) -> LayoutFacts:
    """The facts of a tensor of `shape` under `encoding`."""
    return LayoutFacts(to_linear_layout(encoding, shape))


class TensorFacts:
    """A tensor type: what one register holds, how many there are and where they are."""

    __slots__ = ("count", "element", "encoding", "layout", "shape", "type", "vector")

    def __init__(self, type_: TensorType[Attribute]):
        encoding = layout_of(type_)
        if encoding is None:
            raise LoweringError(
                f"a tensor without a layout cannot be lowered: {type_}", help="run convert-triton-to-tritongpu first"
            )
        self.type = type_
        self.shape = type_.get_shape()
        self.encoding = encoding
        self.element = scalar_type(type_.element_type)
        self.layout = layout_facts(encoding, self.shape)
        self.count = self.layout.count
        self.vector = vector_type(self.element, self.count)


def flat_offsets(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """From registers, lanes and warps to the row-major number of an element."""
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    bases = {
        name: [(sum(c * s for c, s in zip(basis, strides, strict=True)),) for basis in layout.bases[name]]
        for name in ("register", "lane", "warp")
    }
    return LinearLayout(bases, {"offset": strides[0] * shape[0]})
