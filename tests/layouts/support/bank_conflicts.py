"""How often accesses to shared memory collide, counted from the layouts alone: what arrangements are measured by.

Counterpart of `largestVectorisation`, `regPermForDivide` and `bankConflicts` of Triton's lib/Tools.
"""

from __future__ import annotations

from minitriton.errors import MinitritonError
from minitriton.layouts import f2
from minitriton.layouts.algebra import ColumnAction, action_remove_broadcasted_regs, divide_left
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.swizzling import BANK_LINE_BITS, intersection_rank


def reg_perm_for_divide(a: LinearLayout, b: LinearLayout, left: bool) -> ColumnAction | None:
    """The order of registers under which `a` may be divided by `b`: if any order works, this one does."""
    mine = a.bases["register"]
    names = list(b.out_dims)
    b_at = [names.index(dim) if dim in names else -1 for dim in a.out_dims]
    shifts = [0] * a.num_out_dims
    for out, (dim, size) in enumerate(a.out_dims.items()):
        quotient = size >> f2.log2(b.out_dims.get(dim, 1))
        if not quotient:
            return None
        shifts[out] = 0 if left else f2.log2(quotient)
    picked: list[int] = []
    for theirs in b.bases["register"]:
        want = tuple(theirs[at] << s if at >= 0 else 0 for at, s in zip(b_at, shifts, strict=True))
        found = next((i for i, basis in enumerate(mine) if i not in picked and basis == want), None)
        if found is None:
            return None
        picked.append(found)
    rest = [i for i in range(len(mine)) if i not in picked]
    return ColumnAction(tuple(picked + rest if left else rest + picked), "register", len(mine))


def largest_vectorisation(
    cvt: LinearLayout, bitwidth: int, max_vec_elems: int | None = None
) -> tuple[int, ColumnAction]:
    """The most elements one access of at most 128 bits moves, and the order of registers that makes them neighbours.

    `cvt` maps `register, lane, warp[, block]` to `offset` (in elements). Given `max_vec_elems`, registers stay in order.
    """
    vec = 128 // bitwidth if max_vec_elems is None else max_vec_elems
    while vec >= 1:
        tile = LinearLayout.identity_1d(vec, "register", "offset")
        action = reg_perm_for_divide(cvt, tile, left=True)
        if (
            action is not None
            and (max_vec_elems is None or action.is_identity)
            and divide_left(action.apply(cvt), tile) is not None
        ):
            return vec, action
        vec //= 2
    raise MinitritonError(f"no vector width fits elements of {bitwidth} bits")


def bank_conflicts_ld_st(src: LinearLayout, dst: LinearLayout, smem: LinearLayout, bitwidth: int) -> tuple[int, int]:
    """Extra wavefronts per access of `(loads to dst, stores from src)`; `smem` maps `vector, bank, segment[, reps]`."""
    names = list(smem.out_dims)
    wide = f2.log2(max(1, smem.get_in_dim_size("vector") * bitwidth // 32))
    segment = smem.flat_bases("segment")

    def conflicts(layout: LinearLayout) -> int:
        lanes = layout.transpose_outs(names).flat_bases("lane")
        return (1 << intersection_rank(segment, lanes[: len(lanes) - wide])) - 1

    return conflicts(dst), conflicts(src)


def bank_conflicts_mem_desc(reg: LinearLayout, smem: LinearLayout, bitwidth: int) -> int:
    """Extra wavefronts per access when registers laid out as `reg` meet a buffer laid out as `smem` (from `offset`)."""
    reg = action_remove_broadcasted_regs(reg).apply(reg)
    vec, action = largest_vectorisation(reg.invert_and_compose(smem), bitwidth)
    reg = action.apply(reg)
    total = smem.get_total_in_dim_size()
    bank = min(BANK_LINE_BITS // (vec * bitwidth), total // vec)
    shaped = smem.reshape_ins({"vector": vec, "bank": bank, "segment": total // (bank * vec)})
    return bank_conflicts_ld_st(reg, reg, shaped, bitwidth)[0]
