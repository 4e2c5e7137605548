"""What the language declares, the frontend emits, under the names and signatures of Triton."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

import minitriton.language as tl
from minitriton.frontend.emitters import EMITTERS, emitter_of
from minitriton.frontend.errors import LanguageTypeError
from minitriton.language import core, declare, descriptors, iterators, math, memory, operations
from minitriton.language.declare import Builtin, ElementwiseBuiltin
from minitriton.language.extra import cuda, libdevice
from minitriton.language.values import constexpr, tensor, unwrap

STATIC = {
    core.static_assert, core.static_print, cuda.convert_custom_float8_sm70, cuda.convert_custom_float8_sm80,
}  # fmt: skip
"""Handled by the code generator itself, or names alone, which Triton's own frontend calls."""

BUILTINS = {
    value
    for module in (core, cuda, descriptors, math, memory, operations)
    for value in vars(module).values()
    if isinstance(value, Builtin)
} - STATIC | set(libdevice.FUNCTIONS.values())


def test_every_declared_operation_has_an_emitter_and_no_other() -> None:
    elementwise = {declaration for declaration in BUILTINS if isinstance(declaration, ElementwiseBuiltin)}
    assert set(EMITTERS) | elementwise == BUILTINS


def test_what_is_declared_as_an_op_that_no_dialect_has_names_the_file_to_declare_it_in() -> None:
    @declare.elementwise("math.cosecant")
    def cosecant(x: Any) -> Any: ...

    with pytest.raises(LanguageTypeError, match=r"cosecant is declared as math\.cosecant") as caught:
        emitter_of(cosecant)
    assert "minitriton/dialects/math" in str(caught.value.help)


def test_what_has_no_emitter_names_the_table() -> None:
    @declare.builtin
    def cosecant(x: Any) -> Any: ...

    with pytest.raises(LanguageTypeError, match="nothing emits it") as caught:
        emitter_of(cosecant)
    assert "minitriton/frontend/emitters.py" in str(caught.value.help)


@pytest.mark.parametrize("declaration", sorted(BUILTINS, key=str), ids=lambda d: f"{d.__module__}.{d.__name__}")
def test_emitter_takes_the_declared_arguments(declaration: Builtin) -> None:
    def shape(fn: Any, skip: int) -> list[tuple[Any, ...]]:
        parameters = list(inspect.signature(fn).parameters.values())[skip:]
        return [(p.name, p.kind, p.default) for p in parameters]

    emitted, declared = shape(emitter_of(declaration), 1), shape(declaration.fn, 0)
    assert len(emitted) == len(declared)
    for (name, kind, default), wanted in zip(emitted, declared, strict=True):
        assert (kind, default) == wanted[1:]
        # The first value is never passed by name.
        assert name == wanted[0] or wanted is declared[0]


@pytest.mark.oracle
def test_all_public_names_of_triton_exist() -> None:
    triton_language = pytest.importorskip("triton.language")
    missing = set(triton_language.__all__) - set(dir(tl))
    assert not missing


@pytest.mark.oracle
def test_tensor_methods_are_those_of_triton() -> None:
    triton_language = pytest.importorskip("triton.language")
    public = {n for n in dir(triton_language.tensor) if not n.startswith("_")} - {"T", "to", "type"}
    assert public <= set(tensor.members)


@pytest.mark.parametrize("name", ["load", "sum", "exp"])
def test_calling_an_operation_on_the_host_says_what_is_missing(name: str) -> None:
    with pytest.raises(ValueError, match=r"Did you forget to add @triton\.jit"):
        getattr(tl, name)(1)


def test_constexpr_arithmetic_works_on_the_host() -> None:
    two = tl.constexpr(2)
    assert (two + 3, 3 - two, two**3, -two, two // 2, two < 3) == (5, 1, 8, -2, 1, True)
    assert tl.constexpr(two).value == 2
    assert unwrap(tl.tuple([constexpr(1), (two, 3)])) == (1, (2, 3))


def test_types_are_equal_by_value_and_printed_as_in_triton() -> None:
    assert tl.block_type(tl.float32, [8, 4]) == tl.block_type(tl.dtype("fp32"), (8, 4))
    assert tl.pointer_type(tl.int8) != tl.pointer_type(tl.int8, const=True)
    assert repr(tl.bfloat16) == "triton.language.bfloat16"
    assert tl.str_to_ty("*kfp16", None).is_const()
    assert tl.block_type(tl.float32, [8, 4]).mangle() == "fp32S8_4S"


@pytest.mark.parametrize(
    ("shape", "reason"),
    [([3], "must be a power of 2"), ([2**21], "exceeds triton maximum"), ([2.0], "must have type"), ([], "0d")],
)
def test_blocks_of_impossible_shapes_are_refused(shape: list[Any], reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        tl.block_type(tl.float32, shape)


def test_range_refuses_host_iteration_and_static_range_needs_constants() -> None:
    with pytest.raises(RuntimeError, match="only be used in"):
        iter(iterators.range(4))
    with pytest.raises(TypeError, match="is not a constexpr"):
        iterators.static_range(4)


@pytest.mark.oracle
def test_library_functions_have_the_symbols_and_types_of_triton() -> None:
    triton_library = pytest.importorskip("triton.language.extra.cuda.libdevice")
    found: dict[str, dict[tuple[str, ...], tuple[str, str]]] = {}
    for function in ast.parse(inspect.getsource(triton_library)).body:
        table = next((node for node in ast.walk(function) if isinstance(node, ast.Dict)), None)
        if isinstance(function, ast.FunctionDef) and table is not None:
            entries = zip(map(_strings, table.keys), map(_strings, table.values), strict=True)
            found[function.name] = {arguments: (result[0], result[1]) for arguments, result in entries}
    assert found == {
        name: {tuple(d.name for d in arguments): (s, r.name) for arguments, (s, r) in overloads.items()}
        for name, overloads in libdevice.OVERLOADS.items()
    }


def _strings(node: ast.AST | None) -> tuple[str, ...]:
    assert node is not None
    constants = sorted(
        (n for n in ast.walk(node) if isinstance(n, ast.Constant)), key=lambda n: (n.lineno, n.col_offset)
    )
    return tuple(str(n.value) for n in constants)
