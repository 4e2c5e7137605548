"""`ttg.warp_specialize`: groups of warps that run different code at the same time.

    %0 = ttg.warp_specialize(%a)
    default {
      ttg.warp_yield %x : i32
    }
    partition0(%arg0: i32) num_warps(4) {
      ttg.warp_return
    } : (i32) -> i32

The default region may use values from outside; the partitions are isolated and get the captures as arguments. They are
inside an op of their own, `ttg.warp_specialize.partitions`, which the text hides.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, IntegerType, LocationAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    ReturnLike,
)
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.encodings import SharedMemorySpaceAttr
from minitriton.dialects.facts.gpu_traits import AsyncRegions, VerifyTensorLayouts, require
from minitriton.dialects.facts.launch import maybe_num_warps
from minitriton.dialects.facts.region_flow import Branch, RegionFlow, ends_of
from minitriton.dialects.facts.synchronization import SPECIALIZED, TakesBarriers
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg.types import MemDescType
from minitriton.layouts.f2 import is_power_of_two


class _WarpGroups(RegionFlow):
    """The default region gives the results; the partitions run next to it and get the captures."""

    def branches(self, op: Operation) -> list[Branch]:
        default, holder = op.regions
        found = [Branch(None, default, (), ())]
        found.extend(Branch(default, None, end.operands, op.results) for end in ends_of(default))
        for inner in holder.block.ops:
            for region in inner.regions:
                if region.first_block is not None:
                    found.append(Branch(None, region, op.operands, region.first_block.args, concurrent=True))
        return found


class WarpSpecializeOp(Op):
    """Runs the default region and every partition region at once; joins them at the end."""

    name = "ttg.warp_specialize"

    explicit_captures = var_operand_def()
    partition_num_warps = prop_def(DenseArrayBase.constr(i32), prop_name="partitionNumWarps")
    warp_group_start_ids = opt_prop_def(DenseArrayBase.constr(i32), prop_name="warpGroupStartIds")
    requested_registers = opt_prop_def(DenseArrayBase.constr(i32), prop_name="requestedRegisters")
    actual_registers = opt_prop_def(DenseArrayBase.constr(i32), prop_name="actualRegisters")
    default_passthrough = var_result_def()
    default_region = region_def()
    partition_op_holder = region_def("single_block")

    traits = traits_def(
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        AsyncRegions(),
        VerifyTensorLayouts(),
        _WarpGroups(),
        TakesBarriers(SPECIALIZED),
    )

    def __init__(
        self,
        explicit_captures: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        partition_num_warps: Sequence[int],
        default_region: Region | None = None,
        partition_regions: Sequence[Region] = (),
        requested_registers: Sequence[int] | None = None,
        warp_group_start_ids: Sequence[int] | None = None,
        actual_registers: Sequence[int] | None = None,
    ) -> None:
        properties: dict[str, Attribute] = {"partitionNumWarps": i32_array(tuple(partition_num_warps))}
        for name, values in (
            ("warpGroupStartIds", warp_group_start_ids),
            ("requestedRegisters", requested_registers),
            ("actualRegisters", actual_registers),
        ):
            if values is not None:
                properties[name] = i32_array(tuple(values))
        Operation.__init__(
            self,
            operands=tuple(explicit_captures),
            result_types=result_types,
            properties=properties,
            regions=(
                default_region if default_region is not None else Region(Block()),
                Region(Block([WarpSpecializePartitionsOp(partition_regions)])),
            ),
        )

    @property
    def partitions(self) -> WarpSpecializePartitionsOp:
        """The op that holds the partition regions."""
        op = self.partition_op_holder.block.first_op
        assert isinstance(op, WarpSpecializePartitionsOp)
        return op

    @property
    def partition_regions(self) -> tuple[Region, ...]:
        """The isolated regions, one per partition."""
        return self.partitions.regions

    @property
    def num_warps_of_partitions(self) -> tuple[int, ...]:
        """Warps of each partition."""
        return tuple(int(n) for n in self.partition_num_warps.get_values())

    def capture_size_and_alignment(self) -> tuple[int, int]:
        """Bytes of shared memory in which the captures reach the partitions, tightly packed, and their alignment."""
        return sum(_bytes_in_shared_memory(value.type) for value in self.explicit_captures), 8

    @classmethod
    def parse(cls, parser: Parser) -> WarpSpecializeOp:
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        values = dict(attributes.data) if attributes is not None else {}
        parser.parse_keyword("default")
        default_region = parser.parse_region()
        num_warps: list[int] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword(f"partition{len(regions)}") is not None:
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
            parser.parse_keyword("num_warps")
            with parser.in_parens():
                num_warps.append(parser.parse_integer())
            region = parser.parse_region([argument for argument, _ in arguments])
            regions.append(region)
            if region.first_block is not None:
                for value, (_, location) in zip(region.first_block.args, arguments, strict=False):
                    value.location = value.location if location is None else location
        parser.parse_punctuation(":")
        types = parser.parse_type()
        if not isinstance(types, FunctionType):
            parser.raise_error("expected a function type")
        operands = parser.resolve_operands(unresolved, types.inputs.data, parser.pos)
        known = ("warpGroupStartIds", "requestedRegisters", "actualRegisters")
        properties = {name: values.pop(name) for name in known if name in values}
        properties["partitionNumWarps"] = i32_array(tuple(num_warps))
        return cls.create(
            operands=operands,
            result_types=types.outputs.data,
            properties=properties,
            attributes=values,
            regions=(default_region, Region(Block([WarpSpecializePartitionsOp(regions)]))),
        )

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.explicit_captures, printer.print_ssa_value)
        shown = {k: v for k, v in self.properties.items() if k != "partitionNumWarps"} | self.attributes
        printer.print_op_attributes(dict(sorted(shown.items())), print_keyword=True)
        printer.print_string("\ndefault ")
        printer.print_region(self.default_region, print_entry_block_args=False)
        for index, (region, warps) in enumerate(zip(self.partition_regions, self.num_warps_of_partitions, strict=True)):
            printer.print_string(f"\npartition{index}(")
            printer.print_list(region.blocks[0].args, printer.print_block_argument)
            printer.print_string(f") num_warps({warps}) ")
            printer.print_region(region, print_entry_block_args=False)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def verify_(self) -> None:
        require(self, self._complaint())

    def _complaint(self) -> str | None:
        holder = self.partition_op_holder.blocks.first
        if holder is None or not isinstance(holder.first_op, WarpSpecializePartitionsOp):
            return "expected to find only a `ttg.warp_specialize.partitions` op inside its second region"
        regions, counts = self.partition_regions, self.num_warps_of_partitions
        if len(regions) != len(counts):
            return f"has {len(regions)} partitions but `partitionNumWarps` has {len(counts)} elements"
        for index, count in enumerate(counts):
            if not is_power_of_two(count):
                return f"partition #{index} number of warps ({count}) must be a power of 2"
        if self.warp_group_start_ids is not None and len(self.warp_group_start_ids) != len(counts):
            return f"has {len(self.warp_group_start_ids)} warp group start IDs but expected {len(counts)}"
        return self._captures_complaint() or self._context_complaint()

    def _captures_complaint(self) -> str | None:
        for index, region in enumerate(self.partition_regions):
            if region.blocks.first is None:
                return "partition region must be a region with at least 1 blocks"
            arguments = region.blocks.first.args
            if len(arguments) != len(self.operands):
                return f"partition region #{index} has {len(arguments)} arguments but expected {len(self.operands)}"
            for position, (argument, capture) in enumerate(zip(arguments, self.operands, strict=True)):
                if argument.type != capture.type:
                    return (
                        f"partition region #{index} argument #{position} has type '{argument.type}' "
                        f"but corresponding capture has type '{capture.type}'"
                    )
        return None

    def _context_complaint(self) -> str | None:
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, WarpSpecializeOp):
                return "cannot be nested inside another `ttg.warp_specialize` op"
            parent = parent.parent_op()
        warps = maybe_num_warps(self)
        if warps is not None and warps % 4:
            return "warp-specialized kernels requires num_warps to be a multiple of 4"
        return None


class WarpSpecializePartitionsOp(Op):
    """Holds the isolated regions of a `ttg.warp_specialize`."""

    name = "ttg.warp_specialize.partitions"

    partition_regions = var_region_def()
    traits = traits_def(
        IsolatedFromAbove(),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        IsTerminator(),
        HasParent(WarpSpecializeOp),
        VerifyTensorLayouts(),
    )

    @from_fields
    def __init__(self, partition_regions: Sequence[Region] = ()) -> None: ...

    def verify_(self) -> None:
        for index, region in enumerate(self.regions):
            if region.first_block is None:
                what = (
                    f"region #{index} ('partitionRegions') failed to verify constraint: region with at least 1 blocks"
                )
                raise VerifyException(f"'{self.name}' op {what}")


class WarpYieldOp(Op):
    """Ends the default region; its operands are the results of the `ttg.warp_specialize`."""

    name = "ttg.warp_yield"

    values = var_operand_def()
    traits = traits_def(Pure(), IsTerminator(), ReturnLike(), HasParent(WarpSpecializeOp), VerifyTensorLayouts())
    assembly_format = "($values^)? attr-dict (`:` type($values)^)?"

    @from_fields
    def __init__(self, values: Sequence[SSAValue] = ()) -> None: ...

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is None:
            return
        if len(self.operands) != len(parent.results):
            raise VerifyException(
                f"'{self.name}' op has {len(self.operands)} operands but parent op expected {len(parent.results)}"
            )
        for index, (want, have) in enumerate(zip(parent.result_types, self.operand_types, strict=True)):
            if want != have:
                raise VerifyException(
                    f"'{self.name}' op operand #{index} has type '{have}' but parent op expected '{want}'"
                )


class WarpReturnOp(Op):
    """Ends a partition region."""

    name = "ttg.warp_return"

    traits = traits_def(
        Pure(), IsTerminator(), ReturnLike(), HasParent(WarpSpecializePartitionsOp), VerifyTensorLayouts()
    )
    assembly_format = "attr-dict"

    @from_fields
    def __init__(self) -> None: ...


def _bytes_in_shared_memory(type_: Attribute) -> int:
    if isinstance(type_, MemDescType):
        if not isinstance(type_.memory_space, SharedMemorySpaceAttr):
            return 8
        return 8 + 4 * type_.get_num_dims()
    if instance_of(type_, IntegerType):
        return (type_.width.data + 7) // 8
    width = getattr(type_, "bitwidth", 64)
    return (width + 7) // 8


def _parse_argument(parser: Parser) -> tuple[Parser.Argument, LocationAttr | None]:
    """`%name: type`, and its location if the text gives one."""
    return parser.parse_argument(), parser.parse_optional_location()
