"""Plans: what a lowering has to emit to move a tensor, as plain data that it can follow line by line.

In: nothing; `conversion.py` and `memory.py` make them. Out: frozen values. Registers are numbered as the tensor's layout
numbers them; "lane" is the lane of the warp, "warp" the warp of the CTA. Bytes, not elements, in every address.

A conversion is one of `NoConversion`, `RegisterPermutation`, `WarpShuffle`, `SharedMemoryRoundTrip`.

    RegisterPermutation((0, 2, 1, 3)):  dst = [src[0], src[2], src[1], src[3]]
"""

from collections.abc import Sequence
from typing import NamedTuple

from minitriton.host.frozen import frozen
from minitriton.layouts import f2


@frozen
class NoConversion:
    """Source and destination registers are the same, in the same order."""


class RegisterPermutation(NamedTuple):
    """Every thread has what it needs: `dst[i] = src[source[i]]`."""

    source: tuple[int, ...]


class SelectSwap(NamedTuple):
    """In every lane whose bit `lane_bit` is set, word `w` and word `w ^ (1 << word_bit)` are swapped."""

    word_bit: int
    lane_bit: int


class Shuffle(NamedTuple):
    """Each lane fetches word `w` from lane `apply(lane_columns, lane) ^ masks[w]` (`shfl.sync.idx`).

    `is_xor` tells that the map of lanes is the identity: `shfl.sync.bfly` by `masks[w]`, and nothing where that is 0.
    """

    lane_columns: tuple[int, ...]
    masks: tuple[int, ...]

    @property
    def is_xor(self) -> bool:
        """Whether the source lane is the own lane xor a constant."""
        return all(column == 1 << i for i, column in enumerate(self.lane_columns))

    def source_lane(self, lane: int, word: int) -> int:
        """The lane from which `lane` fetches `word`."""
        return f2.apply(self.lane_columns, lane) ^ self.masks[word]


class Ship(NamedTuple):
    """Exchanges bit `word_bit` of the word with bit `lane_bit` of the lane, half as many shuffles as words.

    For each pair `lo`, `hi = lo | 1 << word_bit` and `on = lane >> lane_bit & 1`:
    `sent = on ? w[lo] : w[hi]`; `got = shfl.bfly(sent, 1 << lane_bit)`; then `w[lo] = on ? got : w[lo]` and
    `w[hi] = on ? w[hi] : got`.
    """

    word_bit: int
    lane_bit: int


class WarpShuffle(NamedTuple):
    """Data moves between lanes of a warp only.

    1. `x[i] = src[source[i]]` for all `i`.
    2. `pack` neighbours `x[k * pack], x[k * pack + 1], ...` form word `k`, the first in the lowest bits; each takes
       `32 // pack` bits. An element of 64 bits makes two words: every step is done for its halves alike.
    3. The steps in order, on the words.
    4. Unpack to `x` again; `dst[i] = x[result[i]]`.
    """

    source: tuple[int, ...]
    pack: int
    steps: tuple[SelectSwap | Shuffle | Ship, ...]
    result: tuple[int, ...]

    @property
    def num_shuffles(self) -> int:
        """Shuffle instructions per thread, for elements of at most 32 bits."""
        words = len(self.source) // self.pack
        count = 0
        for step in self.steps:
            if isinstance(step, Ship):
                count += words // 2
            elif isinstance(step, Shuffle):
                count += sum(1 for mask in step.masks if mask) if step.is_xor else words
        return count


class PlannedAccess(NamedTuple):
    """One vector access at byte `(base ^ xor) + add`; `registers[k]` is the register of its element `k`.

    `add` is a multiple of the access's size and never carries into a bit that `base ^ xor` may have set: it can be an
    immediate. Neighbouring accesses share `xor`, so that `base ^ xor` is computed once for each group.
    """

    xor: int
    add: int
    registers: tuple[int, ...]


class PlannedMemoryAccess(NamedTuple):
    """How one tensor's registers meet shared memory.

    `base` is the xor of `lane[i]` over the set bits of the lane and of `warp[i]` over those of the warp (and of the byte offset
    of a slice of a buffer, if there is one). Each of `accesses` moves `vector` elements of `bitwidth` bits a lane.

    Store: write `src[r]` for the `registers` of each access. Only registers that are not copies are listed.
    Load: `dst[i] = loaded[result[i]]`, where `loaded` are all loaded elements in the order of the accesses.
    `padding` holds pairs `(i, p)`: the address is then `offset + sum((offset >> i) << p)` over them.

    With `matrices` 0 an access is `ld.shared` or `st.shared` of a vector. With 1, 2 or 4 it is `ldmatrix` or `stmatrix`
    `.m8n8.x1`, `.x2` or `.x4` (`.b16`, with `.trans` if `transposed`): the address is that of the row of 16 bytes that the
    instruction wants from this lane, and `registers` are what the lane gets, 32 bits after 32 bits.
    """

    bitwidth: int
    vector: int
    lane: tuple[int, ...]
    warp: tuple[int, ...]
    accesses: tuple[PlannedAccess, ...]
    result: tuple[int, ...]
    padding: tuple[tuple[int, int], ...] = ()
    matrices: int = 0
    transposed: bool = False

    @property
    def vector_bytes(self) -> int:
        """Bytes that one access moves for a lane."""
        return self.vector * self.bitwidth // 8

    def base(self, lane: int, warp: int) -> int:
        """The part of the address that depends on the thread."""
        return f2.apply(self.lane, lane) ^ f2.apply(self.warp, warp)

    def address(self, access: PlannedAccess, lane: int, warp: int, slice_offset: int = 0) -> int:
        """The byte address of `access` in a thread, relative to the buffer."""
        offset = (self.base(lane, warp) ^ slice_offset ^ access.xor) + access.add
        return offset + sum((offset >> i) << p for i, p in self.padding)


class SharedMemoryRoundTrip(NamedTuple):
    """The tensor goes through `scratch_bytes` of shared memory, in as many rounds as `stores` has entries.

    Round `i`: if `i > 0`, barrier; do `stores[i]`; barrier; do `loads[i]`. `loads[i].result` is empty here: in the end
    `dst[k] = loaded[result[k]]`, where `loaded` are the elements of all rounds, in order. Elements narrower than a byte
    are stored as bytes (`bitwidth` 8). With `warp_sync` no warp reads what another one wrote: `bar.warp.sync` will do.
    """

    bitwidth: int
    scratch_bytes: int
    warp_sync: bool
    stores: tuple[PlannedMemoryAccess, ...]
    loads: tuple[PlannedMemoryAccess, ...]
    result: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.stores)


ConversionPlan = NoConversion | RegisterPermutation | WarpShuffle | SharedMemoryRoundTrip


def packed_masks(word_bits: Sequence[int], lane_masks: Sequence[int], num_words: int) -> tuple[int, ...]:
    """For every word the xor of `lane_masks[k]` over those `word_bits[k]` that are set in its number."""
    masks: list[int] = []
    for word in range(num_words):
        mask = 0
        for bit, lane_mask in zip(word_bits, lane_masks, strict=True):
            if word >> bit & 1:
                mask ^= lane_mask
        masks.append(mask)
    return tuple(masks)
