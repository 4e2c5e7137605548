"""One state of TTIR or TTGIR, asked about everything that a click on it may want: types, layouts, facts, accesses, conversions.

In: a `Snapshot` with its module. Out: plain values, tables first, so that a page holds each type and layout once.

    {"types": [{"text": "tensor<1024xf32, #blocked>", "layout": 0, "shape": [1024], "bits": 32}],
     "layouts": [{"encoding": "#ttg.blocked<...>", "kind": "distributed", "shape": [1024], "bases": {...}}],
     "values": {"12": {"type": 0, "origin": "tt.load", ...}},
     "accesses": {"31": {...}},  "movements": {"40": {"from": 0, "to": 1, "cost": {...}}}}
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.locations import user_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType
from minitriton.dialects.ttg.types import MemDescType
from minitriton.errors import MinitritonError
from minitriton.explorer.accesses import accesses
from minitriton.explorer.facts import Facts
from minitriton.explorer.in_flight import by_op
from minitriton.explorer.layout_facts import Encoding, conversion_fact, layout_fact, local_cost
from minitriton.explorer.op_order import order_of
from minitriton.explorer.snapshot import Snapshot
from minitriton.explorer.wire import InspectionJson, LayoutJson, MovementJson, TypeRow, ValueJson
from minitriton.layouts.encodings import DistributedEncoding, SharedEncoding


class Tables:
    """Types, layouts and files, each once."""

    def __init__(self, files: list[str]) -> None:
        self.files = {path: index for index, path in enumerate(files)}
        self.types: list[TypeRow] = []
        self.layouts: list[LayoutJson] = []
        self._types: dict[Attribute, int] = {}
        self._layouts: dict[tuple[Encoding, tuple[int, ...]], int] = {}

    def type_of(self, type_: Attribute) -> int:
        """The row of a type."""
        if type_ not in self._types:
            self._types[type_] = len(self.types)
            row: TypeRow = {"text": str(type_)}
            self.types.append(row)
            if instance_of(type_, (TensorType, MemDescType)):
                row["shape"], row["bits"] = list(type_.get_shape()), bits_of(type_)
                if (layout := self.layout_of(type_)) is not None:
                    row["layout"] = layout
        return self._types[type_]

    def layout_of(self, type_: TensorType | MemDescType) -> int | None:
        """The row of a type's layout; None where it has none that can be drawn."""
        encoding = ttg.layout_of(type_)
        if not isinstance(encoding, DistributedEncoding | SharedEncoding):
            return None
        shape = tuple(type_.get_shape())
        if isinstance(type_, MemDescType):
            shape = shape[len(shape) - encoding.rank :]
        key = (encoding, shape)
        if key not in self._layouts:
            try:
                row = layout_fact(encoding, shape).plain()
            except MinitritonError:
                return None
            self._layouts[key] = len(self.layouts)
            self.layouts.append(row)
        return self._layouts[key]

    def location(self, line: tuple[str, int] | None) -> list[int] | None:
        """A location as the number of its file and its line."""
        return None if line is None or line[0] not in self.files else [self.files[line[0]], line[1]]


def bits_of(type_: TensorType | MemDescType) -> int:
    """Bits of an element; of a pointer 64."""
    element = type_.element_type
    return 64 if isinstance(element, PointerType) else int(getattr(element, "bitwidth", 32))


def inspect_state(
    state: Snapshot, tables: Tables, arch: int | str, grid: tuple[int, ...] | None = None, *, is_gluon: bool = False
) -> InspectionJson:
    """Values, accesses and movements of `state`, by the names and numbers that its lines have; rows are those of `tables`."""
    if state.kept is None:
        return {"values": {}, "accesses": {}, "movements": {}}
    facts = Facts(state.kept, grid)
    values: dict[str, ValueJson] = {}
    for name, value in state.kept.values.items():
        fact = facts.get(name)
        values[name] = fact.plain(tables.type_of(value.type), tables.location(fact.line))
    is_laid_out = state.level == "ttgir"
    found = (
        {str(one.op): one.plain(tables.location(one.line)) for one in accesses(facts, is_gluon)} if is_laid_out else {}
    )
    movements: dict[str, MovementJson] = {}
    for number, op in state.kept.ops.items():
        with suppress(MinitritonError):
            movement = _movement(op, tables, arch)
            if movement is not None:
                movements[str(number)] = movement
    result = InspectionJson(values=values, accesses=found, movements=movements)
    if order := order_of(state.kept):
        result["order"] = order
    if is_laid_out and (in_flight := by_op(state.kept)):
        result["in_flight"] = in_flight
    return result


def _movement(op: Operation, tables: Tables, arch: int | str) -> MovementJson | None:
    """Layouts from and to, and the cost, of an op that moves a tile within the block."""
    location = user_location(op.location)
    line = tables.location((location.file, location.line) if location else None)
    if isinstance(op, ttg.ConvertLayoutOp):
        source, target = op.operands[0].type, op.results[0].type
        assert instance_of(source, TensorType) and instance_of(target, TensorType)
        before, after = ttg.layout_of(source), ttg.layout_of(target)
        if not isinstance(before, DistributedEncoding) or not isinstance(after, DistributedEncoding):
            return None
        cost = conversion_fact(before, after, tuple(source.get_shape()), bits_of(source), arch)
        return {
            "name": op.name,
            "line": line,
            "from": tables.layout_of(source),
            "to": tables.layout_of(target),
            "bits": bits_of(source),
            "cost": cost.plain(),
        }
    ends = _local_ends(op)
    if ends is None:
        return None
    registers, buffer, is_load = ends
    tile, memory = registers.type, buffer.type
    assert instance_of(tile, TensorType) and isinstance(memory, MemDescType)
    encoding, shared = ttg.layout_of(tile), ttg.layout_of(memory)
    if not isinstance(encoding, DistributedEncoding) or not isinstance(shared, SharedEncoding):
        return None
    shape = tuple(tile.get_shape())
    cost = local_cost(encoding, shared, shape, bits_of(memory), tuple(memory.get_alloc_shape()), arch, is_load=is_load)
    rows = tables.layout_of(tile), tables.layout_of(memory)
    cost_json = {"kind": "shared memory", "text": cost.text(), "loads" if is_load else "stores": [asdict(cost)]}
    return {
        "name": op.name, "line": line, "from": rows[is_load], "to": rows[not is_load], "bits": bits_of(memory), "cost": cost_json,
    }  # fmt: skip


def _local_ends(op: Operation) -> tuple[SSAValue, SSAValue, bool] | None:
    """The registers and the buffer of an op that moves a tile between them, and whether it reads the buffer."""
    if isinstance(op, ttg.LocalLoadOp):
        return op.results[0], op.operands[0], True
    if isinstance(op, ttg.LocalStoreOp):
        return op.operands[0], op.operands[1], False
    if isinstance(op, ttg.LocalAllocOp) and op.operands:
        return op.operands[0], op.results[0], False
    return None
