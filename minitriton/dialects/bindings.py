"""A module's ops under the method names that Triton's extension gives MLIR's (`triton._C.libtriton.ir`).

In: an xDSL module. Out: views of what it holds, for programs that walk over the IR of a kernel:

    module.walk(lambda op: print(op.get_name(), op.get_num_operands()))     →  arith.constant 0, tt.get_program_id 0, ...

A view holds nothing but what it shows; two views of one value have the same `id()`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects import tt
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.text import print_module

_Shown = TypeVar("_Shown")


class _View(Generic[_Shown]):
    """`shown` is xDSL's object."""

    def __init__(self, shown: _Shown) -> None:
        self.shown = shown

    def id(self) -> int:
        """A number that no other object has while this one lives."""
        return id(self.shown)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _View) and self.id() == other.id()

    def __hash__(self) -> int:
        return id(self.shown)


class ValueView(_View[SSAValue]):
    """A result of an op or an argument of a block."""

    def get_type(self) -> Attribute:
        """The type; `str` of it is MLIR's text."""
        return self.shown.type

    def get_loc(self) -> LocationAttr:
        """Where the value comes from."""
        owner = self.shown.owner
        if isinstance(owner, Operation):
            return owner.location
        assert isinstance(self.shown, BlockArgument)
        return self.shown.location

    def replace_all_uses_with(self, other: ValueView) -> None:
        """Has every user take `other`."""
        self.shown.replace_all_uses_with(other.shown)


class BlockView(_View[Block]):
    """A block of a region."""

    def get_num_arguments(self) -> int:
        return len(self.shown.args)

    def get_argument(self, index: int) -> ValueView:
        return ValueView(self.shown.args[index])

    arg = get_argument

    def get_parent(self) -> RegionView | None:
        region = self.shown.parent_region()
        return None if region is None else RegionView(region)

    def has_terminator(self) -> bool:
        last = self.shown.last_op
        return last is not None and last.has_trait(IsTerminator)

    def has_return(self) -> bool:
        last = self.shown.last_op
        return isinstance(last, tt.ReturnOp)


class RegionView(_View[Region]):
    """A region of an op."""

    def size(self) -> int:
        """How many blocks it has."""
        return len(self.shown.blocks)

    def empty(self) -> bool:
        return not self.shown.blocks

    def get_parent_region(self) -> RegionView | None:
        region = self.shown.parent_region()
        return None if region is None else RegionView(region)


class OperationView(_View[Operation]):
    """An op of any dialect."""

    def get_name(self) -> str:
        return self.shown.name

    def get_num_operands(self) -> int:
        return len(self.shown.operands)

    def get_operand(self, index: int) -> ValueView:
        return ValueView(self.shown.operands[index])

    def get_num_results(self) -> int:
        return len(self.shown.results)

    def get_result(self, index: int) -> ValueView:
        return ValueView(self.shown.results[index])

    def get_num_regions(self) -> int:
        return len(self.shown.regions)

    def get_region(self, index: int) -> RegionView:
        return RegionView(self.shown.regions[index])

    def get_block(self) -> BlockView | None:
        """The block that the op stands in; None for the module itself."""
        block = self.shown.parent_block()
        return None if block is None else BlockView(block)

    def get_str_attr(self, name: str) -> str | None:
        """A text attribute; None if there is no such."""
        found = self._attribute(name)
        return found.data if isinstance(found, StringAttr) else None

    def get_bool_attr(self, name: str) -> bool | None:
        """An attribute that is true or false; None if there is no such."""
        found = self._attribute(name)
        return bool(found.value.data) if instance_of(found, IntegerAttr) and _is_bit(found) else None

    def get_int_attr(self, name: str) -> int | None:
        """A whole number; None if there is no such."""
        found = self._attribute(name)
        return found.value.data if instance_of(found, IntegerAttr) else None

    def get_flat_symbol_ref_attr(self, name: str) -> str | None:
        """The name of the symbol that an attribute refers to, as `callee` of a `tt.call`; None if there is no such."""
        found = self._attribute(name)
        if not isinstance(found, SymbolRefAttr) or found.nested_references.data:
            return None
        return found.root_reference.data

    def _attribute(self, name: str) -> Attribute | None:
        return self.shown.properties.get(name, self.shown.attributes.get(name))


def _is_bit(value: IntegerAttr) -> bool:
    return instance_of(value.type, IntegerType) and value.type.width.data == 1


class FunctionView(OperationView):
    """A `tt.func`."""

    def get_num_args(self) -> int:
        return len(self.function.function_type.inputs)

    def args(self, index: int) -> ValueView:
        return ValueView(self.function.args[index])

    @property
    def type(self) -> Attribute:
        return self.function.function_type

    @property
    def function(self) -> tt.FuncOp:
        assert isinstance(self.shown, tt.FuncOp)
        return self.shown


class ModuleView(OperationView):
    """A module of kernels and the functions that they call."""

    def __init__(self, shown: ModuleOp, context: Context | None = None) -> None:
        super().__init__(shown)
        self.context = context

    @property
    def module(self) -> ModuleOp:
        """xDSL's module, which the compiler takes."""
        assert isinstance(self.shown, ModuleOp)
        return self.shown

    def walk(self, visit: Callable[[OperationView], object]) -> None:
        """Calls `visit` with every op, those of its regions before the op itself, the module last."""
        for op in _inner_first(self.shown):
            visit(OperationView(op))

    def get_entry_func_name(self) -> str:
        """The name of the first kernel; empty if there is none."""
        kernel = next((f for f in self._functions() if _is_kernel(f)), None)
        return "" if kernel is None else kernel.sym_name.data

    def has_function(self, name: str) -> bool:
        return any(f.sym_name.data == name for f in self._functions())

    def get_function(self, name: str) -> FunctionView:
        """The function of that name. Raises `KeyError` if there is none."""
        found = next((f for f in self._functions() if f.sym_name.data == name), None)
        if found is None:
            raise KeyError(name)
        return FunctionView(found)

    def get_function_signature(self, function: FunctionView) -> list[str]:
        """What launches of `function` pass: `*f32` for a pointer, `nvTmaDesc` for a tensor map, else the type's text."""
        return parameter_types(function.function)

    def str(self) -> str:
        """The text, with locations."""
        return print_module(self.module, locations=True)

    def str_nodebug(self) -> str:
        """The text without locations."""
        return print_module(self.module)

    def __str__(self) -> str:
        return self.str_nodebug()

    def dump(self) -> None:
        """Writes the text to stderr."""
        print(self.str_nodebug(), file=sys.stderr)

    def verify(self) -> bool:
        """Whether every op is as its dialect says."""
        try:
            self.shown.verify()
        except VerifyException:
            return False
        return True

    def _functions(self) -> Iterator[tt.FuncOp]:
        return (op for op in self.module.ops if isinstance(op, tt.FuncOp))


def _is_kernel(function: tt.FuncOp) -> bool:
    return function.sym_visibility is None or function.sym_visibility.data == "public"


def _inner_first(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _inner_first(inner)
    yield op


def parameter_types(function: tt.FuncOp) -> list[str]:
    """MLIR's names of a kernel's parameters as Triton's launcher takes them."""
    inputs = list(function.function_type.inputs)
    given = function.arg_attrs
    attributes = given.data if instance_of(given, ArrayAttr) else (DictionaryAttr({}),) * len(inputs)
    return [_parameter_type(kind, each) for kind, each in zip(inputs, attributes, strict=True)]


def _parameter_type(kind: Attribute, attributes: Attribute) -> str:
    if isinstance(attributes, DictionaryAttr) and "tt.nv_tma_desc" in attributes.data:
        return "nvTmaDesc"
    return f"*{kind.pointee_type}" if isinstance(kind, tt.PointerType) else str(kind)
