"""Warp specialization: one function on the warps at hand, others on warps of their own.

warp_specialize([(f, args), (g, others)], [4], [24])

    ttg.warp_specialize(%others) attributes {requestedRegisters = array<i32: 24>}
    default { tt.call @f(%args); ttg.warp_yield }
    partition0(%arg: ...) num_warps(4) { tt.call @g__..._NW4(%arg); ttg.warp_return }
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

from xdsl.ir import Region, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.locations import source_location
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.generator.base import flatten_all, rebuild_all, wrapped
from minitriton.language.values import Function, base_value, constexpr, type_of
from minitriton.language.values import tuple as language_tuple
from minitriton.target.architectures import LIMITS

_FEWEST_REGISTERS, _MOST_REGISTERS = 24, 256
"""That a thread can be allotted (PTX ISA, "setmaxnreg")."""
_GROUP = 4
"""Warps of a warp group: `setmaxnreg` counts for whole ones."""


def num_warps(b: IRBuilder) -> constexpr:
    """Of the function that is compiled."""
    return constexpr(b.options.num_warps if b.partition_warps is None else b.partition_warps)


def num_ctas(b: IRBuilder) -> constexpr:
    """Of the kernel."""
    return constexpr(b.options.num_ctas)


def _arguments(given: object) -> list[object]:
    if not isinstance(given, (tuple, language_tuple)):
        raise LanguageTypeError(f"function arguments must be a tuple of arguments, but got {type(given)}", "(x, y)")
    return [wrapped(each) for each in cast("Sequence[object]", given if isinstance(given, tuple) else given.values)]


def warp_specialize(
    b: IRBuilder,
    functions_and_args: Sequence[tuple[Function, object]],
    worker_num_warps: Sequence[int],
    worker_num_regs: Sequence[int],
) -> language_tuple | None:
    """A fork into partitions, joined at the end."""
    if not functions_and_args:
        raise LanguageValueError("expected at least one function for the default partition")
    default, *workers = [(function, _arguments(args)) for function, args in functions_and_args]
    for given, what in ((worker_num_warps, "warp"), (worker_num_regs, "register")):
        if len(given) != len(workers):
            raise LanguageValueError(f"warp specialize got {len(workers)} partitions but {len(given)} {what} counts")
    for index, (warps, registers) in enumerate(zip(worker_num_warps, worker_num_regs, strict=True)):
        if warps < 1 or warps & (warps - 1):
            raise LanguageValueError(f"partition #{index} number of warps ({warps}) must be a power of 2")
        if not _FEWEST_REGISTERS <= registers <= _MOST_REGISTERS:
            raise LanguageValueError(
                f"partition #{index} asks for {registers} registers a thread",
                f"{_FEWEST_REGISTERS} to {_MOST_REGISTERS}",
            )

    if (
        b.options.num_warps + -(-sum(worker_num_warps) // _GROUP) * _GROUP
        > LIMITS.threads_per_cta // b.target.warp_size
    ):
        raise LanguageValueError(
            f"partitions of {list(worker_num_warps)} warps, whole groups of {_GROUP}, next to {b.options.num_warps} warps",
            f"at most {LIMITS.threads_per_cta // b.target.warp_size} together",
        )
    _warn_of_registers(b, worker_num_warps, worker_num_regs)
    region, block = b.region()
    with b.in_block(block):
        found = b.call_function(default[0], default[1], {})
        results = _results(found)
        handles = flatten_all(results)
        b.insert(ttg.WarpYieldOp(handles))

    captured = [flatten_all(args) for _, args in workers]
    operands = [handle for each in captured for handle in each]
    regions: list[Region] = []
    first = 0
    counts = zip(worker_num_warps, worker_num_regs, strict=True)
    for (function, args), own, (warps, registers) in zip(workers, captured, counts, strict=True):
        regions.append(_partition(b, function, args, operands, first, len(own), warps, registers))
        first += len(own)
    op = ttg.WarpSpecializeOp(
        operands,
        [handle.type for handle in handles],
        partition_num_warps=worker_num_warps,
        default_region=region,
        partition_regions=regions,
        requested_registers=worker_num_regs,
    )
    b.insert(op)
    if found is None:
        return None
    return language_tuple(rebuild_all(map(type_of, results), list(op.results)))


def _warn_of_registers(b: IRBuilder, counts: Sequence[int], registers: Sequence[int]) -> None:
    """Warns where partitions leave the default warps too few: `tritongpu-allocate-warp-groups` ignores what they ask for then."""
    asked = sorted(zip(counts, registers, strict=True), reverse=True)
    of_warps = [most for count, most in asked for _ in range(count)]
    groups = [max(of_warps[first : first + _GROUP]) for first in range(0, len(of_warps), _GROUP)]
    left = LIMITS.registers_per_sm // b.target.warp_size - _GROUP * sum(groups)
    if left < _FEWEST_REGISTERS * b.options.num_warps:
        where = source_location(b.location)
        warnings.warn(
            f"{where}: partitions that ask for {list(registers)} registers a thread leave the default warps fewer than "
            f"{_FEWEST_REGISTERS}: their requests are ignored",
            RuntimeWarning,
            stacklevel=2,
        )


def _results(found: base_value | None) -> list[object]:
    if isinstance(found, language_tuple):
        return list(found.values)
    return [] if found is None else [found]


def _partition(
    b: IRBuilder,
    function: Function,
    args: list[object],
    operands: Sequence[SSAValue],
    first: int,
    count: int,
    warps: int,
    registers: int,
) -> Region:
    """The region in which `warps` warps, with so many `registers` a thread, run `function`.

    Its arguments are `count` of the region's from `first` on."""
    region, block = b.region([operand.type for operand in operands])
    outer = b.partition_warps, b.partition_registers
    b.partition_warps, b.partition_registers = warps, registers
    try:
        with b.in_block(block):
            values = rebuild_all(map(type_of, args), list(block.args)[first : first + count])
            b.call_function(function, values, {})
            b.insert(ttg.WarpReturnOp())
    finally:
        b.partition_warps, b.partition_registers = outer
    return region
