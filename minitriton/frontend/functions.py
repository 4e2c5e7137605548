"""The functions of a module: each is compiled once for each combination of argument types and compile-time arguments.

    add(x, 3) with x: fp32[128]   →  tt.func private @"file.add__fp32S128S__(1,)cconstexpr_3_"(%x: tensor<128xf32>) -> tensor<128xf32>

The name is Triton's; two functions that would have the same one (closures of one function over different values, compile-time
arguments that print alike) are distinguished by what they are, and the later one gets a `_` more.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Operation

from minitriton.frontend.builder import ir_type
from minitriton.frontend.errors import LanguageError
from minitriton.frontend.function import JITCallable
from minitriton.frontend.generator.base import is_static
from minitriton.frontend.semantic.descriptors import descriptor_ir_type
from minitriton.host.frozen import record
from minitriton.host.identity import key_of
from minitriton.language.aggregates import aggregate_type, aggregate_value
from minitriton.language.descriptors import tensor_descriptor_type
from minitriton.language.dtypes import base_type, constexpr_type, tuple_type, void
from minitriton.language.values import tuple as language_tuple
from minitriton.language.values import type_of


@record
class FunctionRecord:
    """A compiled function: its symbol, and what a call of it gives."""

    symbol: SymbolRefAttr
    return_type: base_type
    result_types: list[Attribute]


class CompiledFunctions:
    """All functions of one module. `compile(fn, name, args) -> (op, return type)` makes a new one."""

    def __init__(self, compile: Callable[[JITCallable, str, Sequence[object]], tuple[Operation, base_type]]) -> None:
        self._compile = compile
        self._records: dict[tuple[object, ...], FunctionRecord | None] = {}
        self._ops: dict[str, Operation] = {}
        self._symbols: dict[str, None] = {}

    def get(self, fn: JITCallable, args: Sequence[object], warps: int | None = None) -> FunctionRecord:
        """The function for `args`, compiled if it is new; `warps`: for a partition of so many."""
        name, key = mangled_name(fn, args), (fn, warps, *_identity(args))
        if warps is not None:
            name += f"_NW{warps}"
        if key not in self._records:
            while name in self._symbols:
                name += "_"
            self._symbols[name] = None
            self._records[key] = None
            op, return_type = self._compile(fn, name, args)
            self._ops[name] = op
            self._records[key] = FunctionRecord(SymbolRefAttr(name), return_type, flat_types(return_type))
        record = self._records[key]
        if record is None:
            raise LanguageError(f"{fn.__name__} calls itself", "kernels cannot recurse: write a loop")
        return record

    def ops(self) -> list[Operation]:
        """All functions, in the order of their first calls."""
        return [self._ops[name] for name in self._symbols if name in self._ops]


def flat_types(type: base_type) -> list[Attribute]:
    """The types of the SSA values that make up a value of `type`."""
    if isinstance(type, tuple_type):
        return [t for element in type.types for t in flat_types(element)]
    if isinstance(type, aggregate_type):
        return [t for field in type.fields.values() for t in flat_types(field)]
    if isinstance(type, tensor_descriptor_type):
        return [descriptor_ir_type(type), *flat_types(type.shape_type), *flat_types(type.strides_type)]
    return [] if isinstance(type, constexpr_type) or type == void else [ir_type(type)]


def _name_in_triton(name: str) -> str:
    """Functions of the languages have the names of Triton's."""
    for ours, theirs in (
        ("minitriton.language.gluon.standard.", "triton.experimental.gluon.language._standard."),
        ("minitriton.language.gluon.", "triton.experimental.gluon.language."),
        ("minitriton.language.", "triton.language."),
    ):
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name


def mangled_name(fn: JITCallable, args: Sequence[object]) -> str:
    """The name of `fn` compiled for `args`, as Triton makes it."""
    types: list[str] = []
    constants: list[str] = []
    _mangle(args, (), types, constants)
    text = "_".join(constants)
    for character, replacement in ((".", "_d_"), ("'", "_sq_"), ("[", "_"), ("]", "_")):
        text = text.replace(character, replacement)
    return f"{_name_in_triton(fn.full_name)}__{'_'.join(types)}__{text}"


def _mangle(values: Iterable[object], path: tuple[int, ...], types: list[str], constants: list[str]) -> None:
    for i, value in enumerate(values):
        here = (*path, i)
        if isinstance(value, language_tuple):
            _mangle(value.values, here, types, constants)
        elif is_static(value):
            constants.append(f"{here}c{value!r}")
        else:
            types.append(type_of(value).mangle())


def _identity(values: Iterable[object]) -> list[Hashable]:
    """What tells arguments apart: the types of run-time values (with the classes of aggregates), the keys of the others, and the
    fields of named tuples."""
    found: list[Hashable] = []
    for value in values:
        if isinstance(value, language_tuple):
            found.append((tuple(value.type.fields), *_identity(value.values)))
        elif is_static(value):
            found.append(key_of(value))
        else:
            found.extend((type_of(value).mangle(), *_classes(type_of(value))))
    return found


def _classes(type: base_type) -> list[type[aggregate_value]]:
    if isinstance(type, tuple_type):
        return [cls for element in type.types for cls in _classes(element)]
    if not isinstance(type, aggregate_type):
        return []
    return [type.cls, *(cls for field in type.fields.values() for cls in _classes(field))]
