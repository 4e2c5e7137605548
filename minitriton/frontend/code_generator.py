"""From a Python function to TTIR.

In: a function, the types of its arguments, the values of its compile-time arguments. Out: a module with the kernel as a
public `tt.func` and the functions it calls as private ones, before any pass.

    ast_to_ttir(kernel, {"x": "*fp32", "BLOCK": "constexpr"}, {(1,): 128}, {(0,): [["tt.divisibility", 16]]}, ...)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects import ub
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region

from minitriton.dialects import tt
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import NUM_WARPS
from minitriton.errors import MinitritonError
from minitriton.frontend.builder import GLUON, IRBuilder, named_location
from minitriton.frontend.errors import CompilationError as CompilationError
from minitriton.frontend.function import JITCallable, Seen, kernel_name
from minitriton.frontend.functions import CompiledFunctions, flat_types
from minitriton.frontend.generator.base import Generator, rebuild
from minitriton.frontend.generator.branches import Branches
from minitriton.frontend.generator.calls import Calls
from minitriton.frontend.generator.expressions import Expressions
from minitriton.frontend.generator.loops import Loops, keep_promises_of_initial_values
from minitriton.frontend.generator.statements import Statements
from minitriton.frontend.prepared_tree import PreparedFunction, prepared_tree
from minitriton.language.aggregates import aggregate_value
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.dtypes import base_type, constexpr_type, tuple_type, void
from minitriton.language.signatures import TypeName, str_to_ty
from minitriton.language.target_info import compiling_for
from minitriton.language.values import constexpr, handle_value, tensor
from minitriton.language.values import tuple as language_tuple
from minitriton.rewriting.constants import int_attr
from minitriton.target import CompileOptions, GPUTarget

_PUBLIC, _PRIVATE = "public", "private"
Path = tuple[int, ...]
Promise = Sequence[Any]
"""The name of an attribute of an argument, and its value: `["tt.divisibility", 16]`."""


class CodeGenerator:
    """Compiles a kernel and the functions it calls: puts together what visits their syntax trees."""

    def __init__(self, builder: IRBuilder) -> None:
        self.b = builder
        self.functions = CompiledFunctions(self._called_function)
        self.generator = generator = Generator(builder)
        calls = Calls(generator, self.functions)
        builder.call_function = calls.call_function
        expressions = Expressions(generator, calls.call)
        self.statements = statements = Statements(generator, expressions, calls)
        branches = Branches(generator, expressions, statements)
        loops = Loops(generator, expressions, statements)
        generator.parts = (expressions, calls, statements, branches, loops)

    def _called_function(self, fn: JITCallable, name: str, args: Sequence[object]) -> tuple[Operation, base_type]:
        return self.function(fn, name, _PRIVATE, args, [])

    def function(
        self,
        fn: JITCallable,
        name: str,
        visibility: str,
        args: Sequence[object],
        arg_attrs: list[dict[str, Attribute]],
    ) -> tuple[Operation, base_type]:
        """The `tt.func` of `fn` for arguments like `args` (types stand for run-time values)."""
        b = self.b
        inserted, function = (b.block, b.location, b.name, b.loop_promises), self.generator.begin(fn)
        b.loop_promises = []
        try:
            made = self._function(fn, name, visibility, args, arg_attrs)
            keep_promises_of_initial_values(b.loop_promises)
            return made
        finally:
            self.generator.end(function)
            b.block, b.location, b.name, b.loop_promises = inserted

    def _function(
        self,
        fn: JITCallable,
        name: str,
        visibility: str,
        args: Sequence[object],
        arg_attrs: list[dict[str, Attribute]],
    ) -> tuple[Operation, base_type]:
        tree = prepared_tree(fn)
        self._check_parameters(tree)
        location = tree.lazy_location.attribute()
        types = [t for arg in args if (type := _run_time_type(arg)) is not None for t in flat_types(type)]
        entry = Block(arg_types=types)
        region = Region(entry)
        b = self.b
        b.block, b.location, b.name = entry, location, None
        if visibility == _PUBLIC:
            b.entry = entry
        self._bind_parameters(args, entry, location)
        if b.seen is not None:
            for node, arg in zip(tree.args.args, args, strict=False):
                b.seen(fn, node, arg)
        self.statements.run(tree.body)
        result_type = self._end(b, region)
        if visibility == _PUBLIC and result_type != void:
            raise self.generator.error(
                next(n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value is not None),
                f"a kernel returns nothing, but {fn.__name__} returns {result_type}",
                "store the result with tl.store through a pointer parameter",
            )
        if visibility == _PUBLIC and not b.is_verbatim:
            arg_attrs = _with_promises(b, entry, arg_attrs)
        op = tt.FuncOp(
            name,
            FunctionType.from_lists(types, flat_types(result_type)),
            region,
            visibility=visibility,
            arg_attrs=[DictionaryAttr(a) for a in arg_attrs] if any(arg_attrs) else None,
            attributes={"noinline": _IS_NOINLINE[bool(fn.noinline and visibility == _PRIVATE)]},
        )
        if b.partition_warps is not None:
            op.attributes["ttg.num-warps"] = i32_attr(b.partition_warps)
        op.location = location
        return op, result_type

    def _check_parameters(self, tree: PreparedFunction) -> None:
        if tree.args.kwarg is not None:
            raise self.generator.unsupported(
                tree,
                f"parameters by names that are not declared are not supported: {tree.args.kwarg.arg}",
                "name each, or take `*args`",
            )
        for param, node in zip(self.generator.fn.params, tree.args.args, strict=False):
            if param.is_constexpr and (param.do_not_specialize or param.do_not_specialize_on_alignment):
                raise self.generator.error(
                    node,
                    f"{param.name} marked as constexpr and listed in do_not_specialize/do_not_specialize_on_alignment. "
                    "Remove constexpr designation to skip specialization.",
                )

    def _bind_parameters(self, args: Sequence[object], entry: Block, location: LocationAttr) -> None:
        handles = entry.args
        cursor = 0
        for name, arg in zip(self.generator.fn.arg_names, args, strict=True):
            start = cursor
            type = _run_time_type(arg)
            value = arg
            if type is not None:
                value, cursor = rebuild(type, handles, cursor)
            for handle in handles[start:cursor]:
                handle.location = named_location(name, location)
            self.generator.bind(name, value)

    def _end(self, b: IRBuilder, region: Region) -> base_type:
        """Returns at the end of a body, `region`, that did not; gives the function's result type."""
        result = self.generator.return_type or void
        if self.generator.terminated and b.is_verbatim:
            b.block = Block()
            region.add_block(b.block)
            self.generator.terminated = False
        if not self.generator.terminated:
            values = [b.value(ub.PoisonOp.create(result_types=(t,))) for t in flat_types(result)]
            b.insert(tt.ReturnOp(values))
        self.statements.end_returns(result)
        return result


Generator.visitors = {
    kind: (position, getattr(part, f"visit_{name}"))
    for position, part in enumerate((Expressions, Calls, Statements, Branches, Loops))
    for name, kind in vars(ast).items()
    if hasattr(part, f"visit_{name}")
}
Generator.visitors[ast.List] = Generator.visitors[ast.Tuple]


_IS_NOINLINE = BoolAttr.from_bool(False), BoolAttr.from_bool(True)


def _with_promises(b: IRBuilder, entry: Block, arg_attrs: Sequence[dict[str, Attribute]]) -> list[dict[str, Attribute]]:
    """`arg_attrs` of a kernel with what `tl.multiple_of` said of arguments where it always runs. Triton ignores that."""
    made = [dict(each) for each in arg_attrs] or [{} for _ in entry.args]
    for argument, name, promise in b.argument_hints:
        if argument.owner is entry and name == "tt.divisibility" and isinstance(promise, DenseIntOrFPElementsAttr):
            value, known = int(promise.get_values()[0]), made[argument.index].get(name)
            least = known.value.data if isinstance(known, IntegerAttr) else 1
            made[argument.index][name] = int_attr(i32, max(value & -value, least))
    return made


def _run_time_type(arg: object) -> base_type | None:
    """The type of an argument that the function takes at run time, None for a compile-time value."""
    if isinstance(arg, base_type):
        return arg
    return (
        arg.type
        if isinstance(arg, (tensor, language_tuple, handle_value, tensor_descriptor, aggregate_value))
        else None
    )


def ast_to_ttir(
    fn: JITCallable,
    signature: Mapping[str, TypeName],
    constexprs: Mapping[str, object] | Mapping[Path, object] | Mapping[str | Path, object],
    attrs: Mapping[Path, Sequence[Promise]],
    options: CompileOptions,
    target: GPUTarget,
    context: Context | None = None,
    is_debugged: bool = False,
    is_verbatim: bool = False,
    is_gluon: bool = False,
    seen: Seen | None = None,
) -> ModuleOp:
    """The TTIR of `fn`, unoptimised; if it `is_debugged`, with its breakpoints. `seen` is called with what each expression gives. Raises `CompilationError` with the kernel's line.

    `signature`: parameter → type name (`*fp32`, `i32`, `constexpr`, or a tuple of such); `constexprs`: parameter or path →
    value; `attrs`: path → argument attributes. A path is `(parameter, element of a tuple, ...)`.
    """
    constants: dict[Path, object] = {
        (fn.arg_names.index(key),) if isinstance(key, str) else key: value for key, value in constexprs.items()
    }
    builder = IRBuilder(options, target, is_debugged, is_verbatim, is_gluon, seen)
    generator = CodeGenerator(builder)
    arguments, arg_attrs = _kernel_arguments(fn, signature, constants, attrs)
    with compiling_for(target):
        kernel, _ = generator.function(fn, kernel_name(fn, signature, constants), _PUBLIC, arguments, arg_attrs)
    module = ModuleOp([kernel, *generator.functions.ops()])
    module.location = FileLineColLoc(StringAttr(fn.file_name), IntAttr(fn.begin_line), IntAttr(0))
    if builder.counts_warps and getattr(options, "choose_warps", False):
        module.attributes[NUM_WARPS] = int_attr(i32, options.num_warps)
    return module


def _kernel_arguments(
    fn: JITCallable,
    signature: Mapping[str, TypeName],
    constants: dict[Path, object],
    attrs: Mapping[Path, Sequence[Promise]],
) -> tuple[list[base_type | constexpr], list[dict[str, Attribute]]]:
    """The types (or compile-time values) of the parameters, and the attributes of the run-time ones, tuples flattened."""
    arguments: list[base_type | constexpr] = []
    arg_attrs: list[dict[str, Attribute]] = []

    def build(type: base_type, path: Path) -> base_type | constexpr:
        if path in constants:
            return constexpr(constants[path])
        if isinstance(type, tuple_type):
            elements = [build(t, (*path, i)) for i, t in enumerate(type.types)]
            types = [e if isinstance(e, base_type) else e.type for e in elements]
            return tuple_type(types, type.fields if any(type.fields) else None)
        if isinstance(type, constexpr_type):
            return constexpr(None)
        arg_attrs.append({name: int_attr(i32, value) for name, value in attrs.get(path, [])})
        arg_attrs.extend({} for _ in flat_types(type)[1:])
        return type

    for i, name in enumerate(fn.arg_names):
        if name not in signature and (i,) not in constants:
            raise MinitritonError(
                f"no type given for parameter {name!r} of {fn.__name__}", help="name every parameter in the signature"
            )
        arguments.append(
            build(
                str_to_ty(signature.get(name, "constexpr"), with_layout=getattr(GLUON, "descriptor_type", None)), (i,)
            )
        )
    return arguments, arg_attrs
