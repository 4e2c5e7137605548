"""What each constant of a kernel is for, and how much work the kernel does by these constants: from its TTIR, compiled with several values.

    BM=32, BN=32, BK=32, GROUP=32          BM=64 and the rest as before
    %5 : tensor<32xi32>                    %5 : tensor<64xi32>                    the shape follows BM
    arith.divsi %m, %c32                   arith.divsi %m, %c64                   tiles of `m`
    tt.dot : 32x32 * 32x32 -> 32x32        tt.dot : 64x32 * 32x32 -> 64x32        rows of a dot

    tile_roles(base, {"BM": changed, ...}, {"BM": 32, ...}, ["a_ptr", ..., "m", ...])

    tiles: BM is M of a dot, programs go by it, m has that many; BK is K, loop 0 goes by it; group: GROUP

Two modules of the same ops are compared op by op, constants by the operands that they are. A constant whose change gives other ops is
structural: it stays as it is.
"""

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, FloatAttr, IntegerAttr, IntegerType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.access_width import aligned_run, is_prefix, most_elements
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import arith, tt
from minitriton.dialects.attribute_values import word
from minitriton.dialects.facts import Contraction, Expensive, Function
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.memory_access import DescriptorAccess, MemoryAccess
from minitriton.dialects.facts.region_flow import Loop as LoopFact
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType


class Size(NamedTuple):
    """A length as a multiple of constants: `Size(0.5, ("BK",))` is half of BK."""

    factor: float
    names: tuple[str, ...] = ()

    def at(self, values: Mapping[str, Any]) -> float:
        return functools.reduce(operator.mul, (values[name] for name in self.names), self.factor)


Shape = tuple[Size, ...]


def elements(shape: Shape, values: Mapping[str, Any]) -> float:
    """How many elements a tensor of `shape` has where the constants have `values`."""
    return prod(size.at(values) for size in shape)


@dataclass(frozen=True)
class Tile:
    """A constant that is the length of an axis of tensors."""

    name: str
    of_dots: tuple[str, ...] = ()
    """`M`, `N` and `K`: sides of dots that it is."""
    is_reduced: bool = False
    program_axes: tuple[int, ...] = ()
    """Axes of the grid whose programs go by it."""
    loops: tuple[int, ...] = ()
    """Numbers of the loops that go by it."""
    extent: str | None = None
    """The parameter that says how long the whole axis is."""
    is_guarded: bool = True
    """Whether each access along it has a mask, wraps around or goes through a descriptor: else the extent must be a multiple of it."""
    is_fixed: bool = False
    """Whether it is how long an axis is in memory, as the head size of attention is: another value reads other memory."""

    @property
    def is_split_by_programs(self) -> bool:
        """Whether programs go by it."""
        return bool(self.program_axes)

    @property
    def covers_axis(self) -> bool:
        """Whether one tile is the whole axis: neither programs nor loops go by it."""
        return not self.is_split_by_programs and not self.loops

    def __str__(self) -> str:
        words = [f"{side} of a dot" for side in self.of_dots] or ["a reduced axis" if self.is_reduced else "an axis"]
        words += ["split among programs"] if self.is_split_by_programs else []
        words += [f"stepped by loop {n}" for n in self.loops]
        words += ["all of it"] if self.covers_axis else []
        words += [f"of {self.extent}"] if self.extent else []
        words += [] if self.is_guarded else ["not masked"]
        words += ["as long as it is in memory"] if self.is_fixed else []
        return ", ".join(words)


@dataclass(frozen=True)
class Loop:
    """How often a loop runs: `parts` of the extents by tiles, `(parameter, tile)`, or the parameters that bound it."""

    parent: int | None
    parts: tuple[tuple[str | None, str], ...] = ()
    bounds: tuple[str, ...] = ()
    step: float = 1.0
    """Of a bound, or what it is divided by, where that is a number."""
    is_persistent: bool = False
    """Whether it goes through the tiles of a program, from the program's number on."""
    is_open: bool = False
    """Whether a condition ends it."""
    has_own_stages: bool = False


@dataclass(frozen=True)
class Work:
    """Work of one kind of one run of a loop's body, or of the kernel where `loop` is None."""

    kind: str
    """`load`, `store`, `atomic`, `special` (division, exponential, ...), `elementwise`, `reduce`, `shuffle` (scan, sort, ...)."""
    bits: int
    """Of an element."""
    shape: Shape
    loop: int | None = None
    axis: int = -1
    """Of an access, along which memory is contiguous; of a reduction, which is reduced."""
    width: int = 1
    """Elements along it that one access can take."""
    by_descriptor: bool = False
    is_scattered: bool = False
    """Whether no axis is known to be contiguous in memory: each element of an access may be in a line of its own."""


@dataclass(frozen=True)
class Operand:
    """What a dot reads: the load it comes from, and what happens in between."""

    bits: int
    """Of an element in memory."""
    shape: Shape
    """As loaded."""
    is_computed: bool = False
    """Whether it is changed in registers on the way."""
    is_transposed: bool = False
    axis: int = -1
    """Of the loaded tensor, along which memory is contiguous."""
    width: int = 1
    """Elements along it that one access can take, at the values that roles were read at."""
    loop: int | None = None
    by_descriptor: bool = False


@dataclass(frozen=True)
class Dot:
    """A dot of `a` (m by k) and `b` (k by n)."""

    m: Size
    n: Size
    k: Size
    element: str
    """Of its operands: `f16`, `i8`, ..."""
    bits: int
    precision: str
    a: Operand | None
    b: Operand | None
    loop: int | None = None
    result_bits: int = 32
    is_chained: bool = False
    """Whether `a` was computed from the result of another dot."""
    others: tuple[Operand, ...] = ()
    """Further loads of the loop that its operands were computed from, such as scales."""


@dataclass(frozen=True)
class TileRoles:
    """The roles of a kernel's constants, and its work by them."""

    tiles: Mapping[str, Tile]
    group: tuple[str, ...] = ()
    """Constants that say how many tiles along an axis programs take before they go on along another."""
    split_k: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """How many programs stay and go through all tiles."""
    stages: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    """Constants that are none of these: flags, or sizes whose change makes another program."""
    loops: tuple[Loop, ...] = ()
    dots: tuple[Dot, ...] = ()
    work: tuple[Work, ...] = ()
    has_atomics: bool = False
    is_described: bool = False
    """Whether a launch may describe the operands of dots in loops (`minitriton-describe-tiles`)."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """The constants that the arguments of a launch fix, as a stride or a shape would."""
        return tuple(tile.name for tile in self.tiles.values() if tile.is_fixed)

    @property
    def free(self) -> tuple[str, ...]:
        """The constants that a search may choose."""
        return (*self.tiles, *self.group, *self.split_k, *self.programs, *self.stages)

    def __str__(self) -> str:
        lines = [f"{tile.name}: {tile}" for tile in self.tiles.values()]
        kinds = (("group of tiles that share an operand in L2", self.group), ("parts of K", self.split_k))
        kinds = (
            *kinds,
            ("programs that stay", self.programs),
            ("stages of a loop", self.stages),
            ("not a tile size", self.other),
        )
        lines += [f"{name}: {what}" for what, names in kinds for name in names]
        return "\n".join(lines)


def tile_roles(
    base: ModuleOp, changed: Mapping[str, ModuleOp], values: Mapping[str, int], parameters: Sequence[str]
) -> TileRoles:
    """The roles of the constants that `values` has, in TTIR without calls.

    `changed[name]`: the same kernel with twice the value of `name`; left out where there is no such kernel. `parameters`: names of the
    function's arguments.
    """
    return _Reader(base, changed, values, parameters).roles()


def _kernel(module: ModuleOp) -> Operation:
    """The function that is launched: the first."""
    return next(op for op in ops_in(module) if Function.of(op) is not None)


def _ops(module: ModuleOp) -> list[Operation]:
    return [op for op in ops_in(_kernel(module)) if not isinstance(op, arith.ConstantOp)]


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(value.type.get_shape()) if instance_of(value.type, TensorType) else ()


def _number(value: SSAValue) -> object:
    """The number that a constant is, of a tensor that of all elements; None for what is none."""
    if not isinstance(value, OpResult) or not isinstance(value.op, arith.ConstantOp):
        return None
    attr: Any = value.op.properties["value"]
    if isinstance(attr, IntegerAttr | FloatAttr):
        return attr.value.data
    get: Any = getattr(attr, "get_values", None)
    return tuple(get()[:1]) if get is not None else None


def _of_programs(value: SSAValue) -> dict[str, int] | None:
    """How often the number of a program on each axis is in `value`, under "" a number; None for what is no sum of these."""
    number = _number(value)
    if isinstance(number, int):
        return {"": number}
    op = value.op if isinstance(value, OpResult) else None
    if isinstance(op, tt.GetProgramIdOp):
        return {word(op.axis): 1}
    if not isinstance(op, arith.AddiOp | arith.MuliOp):
        return None
    one, other = map(_of_programs, operand_values(op))
    if one is None or other is None:
        return None
    if isinstance(op, arith.AddiOp):
        return {axis: one.get(axis, 0) + other.get(axis, 0) for axis in one | other}
    if one.keys() - {""} and other.keys() - {""}:
        return None
    sums, factor = (one, other[""]) if one.keys() - {""} else (other, one[""])
    return {axis: count * factor for axis, count in sums.items()}


def _float(value: SSAValue) -> float:
    """A constant of at least 1; 1 for what is none."""
    number = _number(value)
    return float(number) if isinstance(number, int) and number > 0 else 1.0


def _attributes(op: Operation) -> dict[str, int]:
    return {
        name: attr.value.data
        for name, attr in (*op.attributes.items(), *op.properties.items())
        if isinstance(attr, IntegerAttr)
    }


def _values(op: Operation) -> Iterator[SSAValue]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


_Division = arith.DivSIOp | arith.DivUIOp
_Remainder = arith.RemSIOp | arith.RemUIOp
_Described = tt.MakeTensorDescOp | tt.MakeTensorPtrOp


class _Reader:
    """Compares the modules and reads the first."""

    def __init__(
        self, base: ModuleOp, changed: Mapping[str, ModuleOp], values: Mapping[str, int], parameters: Sequence[str]
    ) -> None:
        self.values = values
        self.function = _kernel(base)
        self.ops = _ops(base)
        arguments = self.function.regions[0].blocks[0].args
        self.parameter_of: dict[SSAValue, str] = dict(zip(arguments, parameters, strict=False))
        self.dims: dict[SSAValue, list[set[str]]] = {}
        self.operands: dict[tuple[Operation, int], set[str]] = {}
        self.attributes: dict[tuple[Operation, str], set[str]] = {}
        self.other = {name for name in values if name not in changed}
        for name, module in changed.items():
            if not self._compare(name, _ops(module)):
                self.other.add(name)
        self.loops = [op for op in self.ops if LoopFact.of(op) is not None]
        self.facts = AxisInfoAnalysis(base)
        self._sources: dict[SSAValue, frozenset[str]] = {}

    def _compare(self, name: str, ops: list[Operation]) -> bool:
        """Notes what follows constant `name`; False where the ops are others."""
        if [type(op) for op in ops] != [type(op) for op in self.ops]:
            return False
        for mine, other in zip(self.ops, ops, strict=True):
            for value, twin in zip(_values(mine), _values(other), strict=False):
                for dim, (a, b) in enumerate(zip(_shape(value), _shape(twin), strict=False)):
                    if a != b:
                        self.dims.setdefault(value, [set() for _ in _shape(value)])[dim].add(name)
            pairs = zip(operand_values(mine), operand_values(other), strict=False)
            for index, (value, twin) in enumerate(pairs):
                if _number(value) != _number(twin):
                    self.operands.setdefault((mine, index), set()).add(name)
            theirs = _attributes(other)
            for attribute, number in _attributes(mine).items():
                if theirs.get(attribute) != number:
                    self.attributes.setdefault((mine, attribute), set()).add(name)
        return True

    # What follows which constants

    def size(self, value: SSAValue, dim: int) -> Size:
        names = tuple(sorted(self.dims[value][dim])) if value in self.dims else ()
        return Size(_shape(value)[dim] / prod(self.values[name] for name in names), names)

    def shape(self, value: SSAValue) -> Shape:
        return tuple(self.size(value, dim) for dim in range(len(_shape(value))))

    def names_of(self, value: SSAValue) -> set[str]:
        """The constants that any axis of `value` follows."""
        return set[str]().union(*self.dims.get(value, ()))

    def sources(self, value: SSAValue) -> frozenset[str]:
        """The parameters that a value was computed from, without what was loaded; `program_id` and `num_programs` among them."""
        found = self._sources.get(value)
        if found is None:
            self._sources[value] = frozenset()
            found = self._sources[value] = self._make_sources(value)
        return found

    def _make_sources(self, value: SSAValue) -> frozenset[str]:
        if value in self.parameter_of:
            return frozenset({self.parameter_of[value]})
        if isinstance(value, OpResult):
            op = value.op
            if isinstance(op, tt.GetProgramIdOp | tt.GetNumProgramsOp):
                return frozenset({"program_id" if isinstance(op, tt.GetProgramIdOp) else "num_programs"})
            if MemoryAccess.of(op) is not None:
                return frozenset()
            inside = self._passed_to(value) if op.regions else operand_values(op)
            return frozenset[str]().union(*map(self.sources, inside))
        assert isinstance(value, BlockArgument)
        return frozenset[str]().union(*map(self.sources, self._passed_to(value)))

    def _passed_to(self, value: SSAValue) -> list[SSAValue]:
        """The values that control flow makes a block's argument, or a result of an op with regions."""
        owner = value.owner
        holder = owner.parent_op() if isinstance(owner, Block) else owner
        if holder is None or Function.of(holder) is not None:
            return []
        flow: Any = LoopFact.of(holder)
        if flow is None:
            if not isinstance(value, OpResult):
                return []
            ends = [region.blocks[-1].last_op for region in holder.regions if region.blocks]
            return [end.operands[value.index] for end in ends if end is not None and value.index < len(end.operands)]
        found = [
            passed
            for branch in flow.branches(holder)
            for passed, received in zip(branch.passed, branch.received, strict=False)
            if received is value
        ]
        counter = flow.counter(holder)
        return [*found, counter[1], counter[2]] if counter is not None and counter[0] is value else found

    def slice(self, value: SSAValue) -> list[Operation]:
        """The ops that `value` was computed from, through loops, without what loads are given."""
        seen: set[SSAValue] = set()
        pending, found = [value], list[Operation]()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if isinstance(current, OpResult) and not current.op.regions:
                found.append(current.op)
                pending += operand_values(current.op) if MemoryAccess.of(current.op) is None else ()
            else:
                pending += self._passed_to(current)
        return found

    def loop_around(self, op: Operation) -> int | None:
        """The number of the innermost loop around `op`."""
        around = op.parent_op()
        while around is not None and LoopFact.of(around) is None:
            around = around.parent_op()
        return None if around is None else self.loops.index(around)

    # Roles

    def roles(self) -> TileRoles:
        extents = self._extents()
        by_program = self._split_by_programs()
        dots = tuple(self._dot(op) for op in self.ops if Contraction.of(op) is not None)
        sides = self._sides(dots)
        reduced = self._reduced()
        unguarded = self._unguarded()
        shaped = set[str]().union(*(names for dims in self.dims.values() for names in dims)) - self.other
        loops = tuple(self._loop(op, extents, shaped) for op in self.loops)
        scalars = [name for name in self.values if name not in shaped and name not in self.other]
        stages = {name for (_, attr), names in self.attributes.items() if attr == "tt.num_stages" for name in names}
        together = [names for names in self.operands.values() if len(names) > 1]
        inner = {tile for loop in loops for _, tile in loop.parts}
        split = {n for n in scalars if any(n in names and names & inner & shaped for names in together)}
        persistent = {name for op in self.loops for name in self.operands.get((op, 2), ()) if name in scalars}
        persistent |= self._strides_of_programs(scalars)
        grouping = {name for name in scalars if self._meets_program(name)} - split - persistent
        grouping -= self._lengths_in_masks()
        rest = set(scalars) - split - persistent - grouping - stages
        tiles = {
            name: Tile(
                name,
                sides.get(name, ()),
                name in reduced,
                tuple(sorted(by_program.get(name, ()))),
                tuple(n for n, loop in enumerate(loops) if any(tile == name for _, tile in loop.parts)),
                _only(extents.get(name, ())),
                name not in unguarded,
            )
            for name in self.values
            if name in shaped
        }
        strides = self._strides_in_memory() | self._pitches_of_several()
        return TileRoles(
            tiles={n: replace(tile, is_fixed=_is_fixed(tile, is_stride=n in strides)) for n, tile in tiles.items()},
            group=_in_order(self.values, grouping),
            split_k=_in_order(self.values, split),
            programs=_in_order(self.values, persistent),
            stages=_in_order(self.values, stages & set(scalars)),
            other=_in_order(self.values, rest | self.other),
            loops=loops,
            dots=dots,
            work=tuple(self._work()),
            has_atomics=any((a := MemoryAccess.of(op)) is not None and a.atomic for op in self.ops),
        )

    def _extents(self) -> dict[str, list[str]]:
        """By tile the parameters that are divided by it, the surest first: by division, by a loop's step, by a mask, by wrapping around."""
        found: dict[str, list[str]] = {}

        def note(names: set[str], value: SSAValue) -> None:
            parameters = [p for p in self.sources(value) if p not in ("program_id", "num_programs")]
            for name in names if len(parameters) == 1 else ():
                found.setdefault(name, []).append(parameters[0])

        for op in self.ops:
            if isinstance(op, _Division) and not _shape(op.results[0]):
                note(self.operands.get((op, 1), set()), op.operands[0])
        for op in self.loops:
            if isinstance(op, scf.ForOp):
                note(self.operands.get((op, 2), set()), op.operands[1])
        for op in self.ops:
            access = MemoryAccess.of(op)
            owner = access.pointer_of(op).owner if isinstance(access, DescriptorAccess) else None
            if access is not None and isinstance(owner, tt.MakeTensorDescOp):
                data, lengths = access.data_of(op), list(owner.shape)
                for dim, length in enumerate(lengths[-len(_shape(data)) :]):
                    note(set(self.size(data, dim).names), length)
        for op in self.ops:
            if isinstance(op, arith.CmpiOp | _Remainder) and _shape(op.operands[0]):
                for value in op.operands:
                    if isinstance(value, OpResult) and not self.names_of(value) <= set(self.other):
                        owner = value.op
                        if isinstance(owner, tt.SplatOp):
                            note(self.names_of(value), owner.operands[0])
        return found

    def _split_by_programs(self) -> dict[str, set[int]]:
        """Constants that numbers of programs are multiplied by, with the axes of the grid."""
        found: dict[str, set[int]] = {}
        for (op, index), names in self.operands.items():
            if isinstance(op, arith.MuliOp) and "program_id" in self.sources(op.operands[1 - index]):
                numbers = [each for each in self.slice(op.operands[1 - index]) if isinstance(each, tt.GetProgramIdOp)]
                for name in names:
                    found.setdefault(name, set()).update("xyz".index(word(each.axis)) for each in numbers)
        return found

    def _strides_in_memory(self) -> set[str]:
        """Constants that rows are numbered by: `rows * D`, `(pid * length + step) * D`, or a shape or stride of a descriptor."""
        found: set[str] = set()
        for (op, index), names in self.operands.items():
            if isinstance(op, arith.MuliOp) and not self._is_row(op.operands[1 - index], names):
                continue
            described = [op, *(use.operation for result in op.results for use in result.uses)]
            if isinstance(op, arith.MuliOp) or any(isinstance(each, _Described) for each in described):
                found |= names
        return found

    def _pitches_of_several(self) -> set[str]:
        """Constants by which the programs of an axis are apart in several ways, `row * 2 * HALF` and `row * HALF`: other tiles do not meet
        at the same elements of both arrays."""
        apart: dict[str, set[tuple[tuple[str, float], ...]]] = {}
        for (op, index), names in self.operands.items():
            if isinstance(op, arith.MuliOp) and not _shape(op.results[0]):
                programs = _of_programs(op.operands[1 - index])
                if programs is not None and programs.keys() - {""}:
                    factor = _number(op.operands[index])
                    assert isinstance(factor, int)
                    for name in names:
                        form = ((number, count * factor) for number, count in sorted(programs.items()) if number)
                        apart.setdefault(name, set()).add(tuple(form))
        return {name for name, forms in apart.items() if len(forms) > 1}

    def _is_row(self, value: SSAValue, names: set[str]) -> bool:
        """Whether `value` numbers rows, not tiles: a range is in it, or something that was itself multiplied by what `names` lacks."""
        if _shape(value):
            return any(isinstance(op, tt.MakeRangeOp) for op in self.slice(value))
        pending = [value]
        while pending:
            current = pending.pop()
            if not isinstance(current, OpResult):
                continue
            if isinstance(current.op, arith.AddiOp | arith.ExtSIOp):
                pending += operand_values(current.op)
            elif isinstance(current.op, arith.MuliOp):
                numbers = [n for n, factor in enumerate(current.op.operands) if _number(factor) is not None]
                if all(self.operands.get((current.op, n), set()) - names for n in numbers):
                    return True
        return False

    def _lengths_in_masks(self) -> set[str]:
        """Constants that positions are compared with."""
        found: set[str] = set()
        for (op, _), names in self.operands.items():
            compared = (
                op if isinstance(op, arith.CmpiOp) else next((u.operation for r in op.results for u in r.uses), op)
            )
            is_splat = op is compared or isinstance(op, tt.SplatOp)
            if is_splat and isinstance(compared, arith.CmpiOp) and _shape(compared.operands[0]):
                found |= names
        return found

    def _loop(self, op: Operation, extents: dict[str, list[str]], shaped: set[str]) -> Loop:
        parent = self.loop_around(op)
        if not isinstance(op, scf.ForOp):
            return Loop(parent, is_open=True)
        first, last, _ = op.operands[:3]
        persistent = "program_id" in self.sources(first)
        parts: list[tuple[str | None, str]] = []
        own = self.operands.get((op, 2), set()) & shaped
        step = 1.0
        if own and not persistent:
            parts = [(_only(extents.get(name, ())), name) for name in sorted(own)]
        else:
            for division in self.slice(last):
                if isinstance(division, _Division):
                    names = self.operands.get((division, 1), set()) & shaped
                    parts += [(_only(extents.get(name, ())), name) for name in sorted(names)]
                    step *= 1.0 if names else _float(division.operands[1])
            step *= 1.0 if persistent else _float(op.operands[2])
        bounds = sorted(self.sources(last) - {"program_id", "num_programs"})
        stages = "tt.num_stages" in op.attributes
        return Loop(parent, tuple(dict.fromkeys(parts)), tuple(bounds), step, persistent, has_own_stages=stages)

    def _sides(self, dots: Sequence[Dot]) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for dot in dots:
            for side, size in (("M", dot.m), ("N", dot.n), ("K", dot.k)):
                for name in size.names:
                    found.setdefault(name, {})[side] = None
        return {name: tuple(sides) for name, sides in found.items()}

    def _reduced(self) -> set[str]:
        found: set[str] = set()
        for op in self.ops:
            if isinstance(op, tt.ReduceOp | tt.ScanOp):
                axis = _attributes(op)["axis"]
                for value in op.operands:
                    found |= set(self.size(value, axis).names)
        return found

    def _unguarded(self) -> set[str]:
        """Tiles along which an access is neither masked nor wraps around."""
        found: set[str] = set()
        for op in self.ops:
            access = MemoryAccess.of(op)
            if access is None or isinstance(access, DescriptorAccess):
                continue
            pointer, mask = access.pointer_of(op), access.mask_of(op)
            along = self.names_of(pointer)
            if not along:
                continue
            guards = set[str]()
            for each in self.slice(mask) if mask is not None else ():
                if isinstance(each, arith.CmpiOp):
                    guards |= self.names_of(each.results[0])
            for each in self.slice(pointer):
                if isinstance(each, _Remainder | arith.MinSIOp | arith.SelectOp):
                    guards |= self.names_of(each.results[0])
            found |= along - guards
        return found

    def _strides_of_programs(self, scalars: Sequence[str]) -> set[str]:
        """Constants that a `while` adds to a number that began as the program's."""
        found: set[str] = set()
        for (op, index), names in self.operands.items():
            if isinstance(op, arith.AddiOp) and self.loop_around(op) is not None and not _shape(op.results[0]):
                other = op.operands[1 - index]
                if "program_id" in self.sources(other) and isinstance(other, BlockArgument):
                    found |= names & set(scalars)
        return found

    def _meets_program(self, name: str) -> bool:
        """Whether integer arithmetic with constant `name` decides which tile a program takes."""
        for (op, _), names in self.operands.items():
            if (
                name in names
                and op.results
                and not _shape(op.results[0])
                and isinstance(op.results[0].type, IntegerType)
            ):
                sources = self.sources(op.results[0])
                if "program_id" in sources or any(
                    "program_id" in self.sources(r) for u in op.results[0].uses for r in u.operation.results
                ):
                    return True
        return False

    # Work

    def _dot(self, op: Operation) -> Dot:
        a, b, result = op.operands[0], op.operands[1], op.results[0]
        rank = len(_shape(a))
        element = _element(a)
        precision: Any = op.properties.get("inputPrecision")
        return Dot(
            self.size(result, rank - 2),
            self.size(result, rank - 1),
            self.size(a, rank - 1),
            str(element),
            _bits(element),
            str(precision.data) if precision is not None else "",
            self._operand(a),
            self._operand(b),
            self.loop_around(op),
            _bits(_element(result)),
            any(Contraction.of(each) is not None for each in self.slice(a)),
            tuple(self._others(op)),
        )

    def _others(self, dot: Operation) -> Iterator[Operand]:
        """Loads of lower rank that the operands of a dot were computed from, in its loop."""
        for value in dot.operands[:2]:
            for each in self.slice(value):
                access = MemoryAccess.of(each)
                if access is not None and each.results and 0 < len(_shape(each.results[0])) < len(_shape(value)):
                    result = each.results[0]
                    axis, width = self._run(each)
                    yield Operand(
                        _bits(_element(result)),
                        self.shape(result),
                        True,
                        axis=axis,
                        width=width,
                        loop=self.loop_around(each),
                    )

    def _operand(self, value: SSAValue) -> Operand | None:
        """The load that an operand of a dot comes from; None where it comes from none."""
        computed = transposed = False
        current = value
        while isinstance(current, OpResult):
            op = current.op
            access = MemoryAccess.of(op)
            if access is not None:
                return Operand(
                    _bits(_element(current)), self.shape(current), computed, transposed, *self._run(op), self.loop_around(op),
                    isinstance(access, DescriptorAccess),
                )  # fmt: skip
            if Contraction.of(op) is not None:
                return None
            if isinstance(op, tt.TransOp):
                transposed = not transposed
            else:
                computed = True
            sources = [v for v in operand_values(op) if len(_shape(v)) == len(_shape(current))] or list(
                operand_values(op)
            )
            if not sources or op.regions:
                return None
            current = sources[0]
        return None

    def _run(self, op: Operation) -> tuple[int, int]:
        """The axis along which an access is contiguous, and how many elements along it are aligned neighbours, by pointers and mask."""
        access = MemoryAccess.of(op)
        assert access is not None
        data = access.data_of(op)
        bits = max(_bits(_element(data)), 8)
        if isinstance(access, DescriptorAccess) or not _shape(data):
            return len(_shape(data)) - 1, most_elements(bits)
        pointer, mask = access.pointer_of(op), access.mask_of(op)
        fact = self.facts.get(pointer)
        axis = max(range(len(_shape(data))), key=lambda dim: fact.contiguity[dim])
        run = min(aligned_run(fact, axis, bits // 8), most_elements(bits))
        if mask is not None and not is_prefix(self.facts, mask, axis, run):
            run = min(run, self.facts.get(mask).constancy[axis])
        return axis, run

    def _is_scattered(self, op: Operation) -> bool:
        access = MemoryAccess.of(op)
        if access is None or isinstance(access, DescriptorAccess) or not _shape(access.data_of(op)):
            return False
        return max(self.facts.get(access.pointer_of(op)).contiguity) == 1

    def _work(self) -> Iterator[Work]:
        for op in self.ops:
            access = MemoryAccess.of(op)
            loop = self.loop_around(op)
            if access is not None:
                data = access.data_of(op)
                kind = "atomic" if access.atomic else "load" if access.is_load else "store"
                yield Work(
                    kind,
                    _bits(_element(data)),
                    self.shape(data),
                    loop,
                    *self._run(op),
                    isinstance(access, DescriptorAccess),
                    self._is_scattered(op),
                )
            elif isinstance(op, tt.ReduceOp):
                yield Work(
                    "reduce", _bits(_element(op.operands[0])), self.shape(op.operands[0]), loop, _attributes(op)["axis"]
                )
            elif isinstance(op, tt.ScanOp | tt.GatherOp):
                yield Work(
                    "shuffle",
                    _bits(_element(op.operands[0])),
                    self.shape(op.operands[0]),
                    loop,
                    _attributes(op)["axis"],
                )
            elif op.results and _shape(op.results[0]) and Elementwise.of(op) is not None:
                element = _element(op.results[0])
                if not isinstance(element, PointerType):
                    yield Work(
                        "elementwise" if Expensive.of(op) is None else "special",
                        _bits(element),
                        self.shape(op.results[0]),
                        loop,
                    )


def _element(value: SSAValue) -> Attribute:
    return value.type.get_element_type() if instance_of(value.type, TensorType) else value.type


def _bits(element: Attribute) -> int:
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 64


def _is_fixed(tile: Tile, *, is_stride: bool) -> bool:
    """Whether no parameter says how long the axis is, and it is this tile that does: one tile is all of it, or rows are numbered by it."""
    if tile.extent is not None or tile.loops:
        return False
    return tile.covers_axis or is_stride or (tile.is_reduced and not tile.is_guarded)


def _only(parameters: Sequence[str]) -> str | None:
    """The first: the surest."""
    return parameters[0] if parameters else None


def _in_order(values: Mapping[str, int], names: set[str]) -> tuple[str, ...]:
    return tuple(name for name in values if name in names)
