"""A kernel that is wrong gives an error at its line, which says what was expected and what to do.

The line that is wrong ends in `# wrong`; the table below the kernels holds what the error must say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

NUMBER = 7


def plain(x):
    return x + 1


class Box:
    pass


@triton.jit
def ands_a_float(x):
    tl.store(x, tl.load(x) & 1.5)  # wrong


@triton.jit
def adds_a_string(x):
    tl.store(x, tl.load(x) + "one")  # wrong


@triton.jit
def ranges_over_33(x):
    tl.store(x + tl.arange(0, 33), 1.0)  # wrong


@triton.jit
def makes_33_zeros(x):
    zeros = tl.zeros((33,), tl.float32)  # wrong
    tl.store(x, tl.sum(zeros))


@triton.jit
def adds_8_and_16(x):
    tl.store(x, tl.sum(tl.arange(0, 8) + tl.arange(0, 16)))  # wrong


@triton.jit
def broadcasts_to_another_rank(x):
    tl.store(x, tl.sum(tl.broadcast_to(tl.arange(0, 8), (4, 4))))  # wrong


@triton.jit
def is_too_large(x):
    block = tl.zeros((2097152,), tl.float32)  # wrong
    tl.store(x, tl.sum(block))


@triton.jit
def uses_an_undefined_name(x):
    value = tl.load(x)
    tl.store(x, value + valeu)  # noqa: F821  # wrong


@triton.jit
def uses_an_undefined_operation(x):
    tl.store(x, tl.laod(x))  # wrong


@triton.jit
def opens(x):
    with x:  # wrong
        tl.store(x, 1.0)


@triton.jit
def tries(x):
    try:  # wrong
        tl.store(x, 1.0)
    except ValueError:
        tl.store(x, 2.0)


@triton.jit
def raises(x):
    raise ValueError("no")  # wrong


@triton.jit
def defines_a_lambda(x):
    f = lambda a: a + 1  # noqa: E731  # wrong
    tl.store(x, f(1))


@triton.jit
def makes_a_dict(x):
    d = {"a": 1}  # wrong
    tl.store(x, d["a"])


@triton.jit
def yields(x):
    yield x  # wrong


@triton.jit
def defines_a_class(x):
    class Inner:  # wrong
        pass


@triton.jit
def declares_a_global(x):
    global NUMBER  # wrong
    NUMBER = 3


@triton.jit
def breaks(x):
    for i in range(3):
        tl.store(x + i, 1.0)
        break  # wrong


@triton.jit
def continues(x):
    for i in range(3):
        tl.store(x + i, 1.0)
        continue  # wrong


@triton.jit
def imports(x):
    import math  # noqa: F401  # wrong


@triton.jit
def deletes(x):
    a = 1
    del a  # wrong


@triton.jit
def defines_a_function(x):
    def inner():  # wrong
        return 1


@triton.jit
def matches(x):
    match x:  # wrong
        case 1:
            tl.store(x, 1.0)


@triton.jit
def assigns_in_a_branch(x, n):
    a = 0
    b = (a := 1) if n > 0 else 2  # wrong
    tl.store(x, a + b)


@triton.jit
def assigns_in_a_loops_condition(x, n):
    a = 0
    while (a := a + 1) < n:  # wrong
        tl.store(x, a)


@triton.jit
def reads_an_announced_constant(x, n):
    size: tl.constexpr
    if n > 0:
        size = 4
    else:
        size = 4
    tl.store(x, size)  # wrong


@triton.jit
def has_a_run_time_shape(x, n):
    zeros = tl.zeros((n,), tl.float32)  # wrong
    tl.store(x, tl.sum(zeros))


@triton.jit
def has_a_run_time_range(x, n):
    tl.store(x + tl.arange(0, n), 1.0)  # wrong


@triton.jit
def loads_through_a_number(x, n):
    tl.store(x, tl.load(n))  # wrong


@triton.jit
def stores_through_a_number(x, n):
    tl.store(n, 1.0)  # wrong


@triton.jit
def masks_16_of_8(x):
    tl.store(x, tl.sum(tl.load(x + tl.arange(0, 8), mask=tl.arange(0, 16) < 3)))  # wrong


@triton.jit
def masks_with_integers(x):
    tl.store(x, tl.sum(tl.load(x + tl.arange(0, 8), mask=tl.arange(0, 8))))  # wrong


@triton.jit
def masks_with_a_string(x):
    tl.store(x, tl.load(x, mask="all"))  # wrong


@triton.jit
def fills_8_with_16(x):
    i = tl.arange(0, 8)
    tl.store(x, tl.sum(tl.load(x + i, mask=i < 3, other=tl.zeros((16,), tl.float32))))  # wrong


@triton.jit
def fills_with_a_string(x):
    tl.store(x, tl.load(x, mask=True, other="zero"))  # wrong


@triton.jit
def fills_without_a_mask(x):
    tl.store(x, tl.load(x, other=0.0))  # wrong


@triton.jit
def misspells_a_keyword(x):
    tl.store(x, tl.load(x, msk=True))  # wrong


@triton.jit
def leaves_an_argument_out(x):
    tl.store(x, tl.load())  # wrong


@triton.jit
def gives_too_many_arguments(x):
    tl.store(x, tl.program_id(0, 1, 2, 3))  # wrong


@triton.jit
def names_an_unknown_cache_modifier(x):
    tl.store(x, tl.load(x, cache_modifier=".zz"))  # wrong


@triton.jit
def calls_plain_python(x):
    tl.store(x, plain(1))  # wrong


@triton.jit
def reduces_with_plain_python(x):
    tl.store(x, tl.reduce(tl.arange(0, 8), 0, plain))  # wrong


@triton.jit
def reads_a_global(x):
    tl.store(x, NUMBER)  # wrong


@triton.jit
def makes_an_object(x):
    tl.store(x, Box())  # wrong


@triton.jit
def multiplies_32_by_16(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.dot(a, tl.zeros((32, 16), tl.float32))))  # wrong


@triton.jit
def loops_while_a_block(x):
    while tl.arange(0, 8) < 3:  # wrong
        tl.store(x, 1.0)


@triton.jit
def branches_on_a_block(x):
    if tl.arange(0, 8) < 3:  # wrong
        tl.store(x, 1.0)


@triton.jit
def returns_a_value(x):
    tl.store(x, 1.0)
    return 1  # wrong


@triton.jit
def assigns_an_element(x):
    block = tl.arange(0, 8)
    block[0] = 1  # wrong


@triton.jit
def calls_a_number(x):
    tl.store(x, x(3))  # wrong


@triton.jit
def casts_to_a_string(x):
    tl.store(x, tl.load(x).to("float33"))  # wrong


WRONG = [
    (ands_a_float, "float32", "help: bitwise operators take integers"),
    (adds_a_string, "cannot compute with 'one' of type str", "help: use a tensor or a number"),
    (ranges_over_33, "must be a power of 2", "help: use 64 and mask the rest"),
    (makes_33_zeros, "Shape element 0 must be a power of 2", "help: round 33 up"),
    (adds_8_and_16, "8 and 16", "help: the operands have shapes [8] and [16]"),
    (broadcasts_to_another_rank, "rank mismatch: [8], [4, 4]"),
    (is_too_large, "numel (2097152) exceeds triton maximum tensor numel (1048576)"),
    (uses_an_undefined_name, "valeu is not defined", "help: did you mean 'value'?"),
    (uses_an_undefined_operation, "no attribute 'laod'", "help: did you mean 'load'?"),
    (opens, "unsupported AST node type: With", "help: call the operations without `with`"),
    (tries, "unsupported AST node type: Try", "help: kernels cannot raise"),
    (raises, "unsupported AST node type: Raise", "help: kernels cannot raise: use tl.device_assert"),
    (defines_a_lambda, "unsupported AST node type: Lambda", "decorated with @triton.jit"),
    (makes_a_dict, "unsupported AST node type: Dict", "help: use a tuple"),
    (yields, "unsupported AST node type: Yield", "help: kernels return nothing"),
    (defines_a_class, "unsupported AST node type: ClassDef", "help: define classes outside"),
    (declares_a_global, "unsupported AST node type: Global", "store results with tl.store"),
    (breaks, "unsupported AST node type: Break", "help: compute in every iteration and mask"),
    (continues, "unsupported AST node type: Continue", "help: put the rest of the body under `if`"),
    (imports, "unsupported AST node type: Import", "help: import at the top of the file"),
    (deletes, "unsupported AST node type: Delete", "help: leave the variable"),
    (defines_a_function, "unsupported AST node type: FunctionDef", "decorated with @triton.jit"),
    (matches, "unsupported AST node type: Match", "help: write `if` and `elif`"),
    (assigns_in_a_branch, "`:=` is not supported in a branch", "help: assign in a statement of its own"),
    (assigns_in_a_loops_condition, "`:=` is not supported in the condition of a loop", "in a statement of its own"),
    (reads_an_announced_constant, "size is not assigned yet", "help: give it one first, and not under a condition"),
    (has_a_run_time_shape, "got a run-time value of type int32", "help: make it a tl.constexpr parameter"),
    (has_a_run_time_range, "must be of type tl.constexpr", "help: annotate the parameter: `BLOCK: tl.constexpr`"),
    (loads_through_a_number, "Unsupported ptr type triton.language.int32", "help: pass a pointer"),
    (stores_through_a_number, "Unsupported ptr type triton.language.int32", "help: pass a pointer"),
    (masks_16_of_8, "incompatible dimensions at index 0: 8 and 16", "help: the operands have shapes [8] and [16]"),
    (masks_with_integers, "Mask must have boolean scalar type", "help: got int32; compare first, as in `i < n`"),
    (masks_with_a_string, "cannot convert all of type <class 'str'>", "help: use a tensor or a number"),
    (fills_8_with_16, "incompatible dimensions at index 0: 8 and 16", "help: the operands have shapes [8] and [16]"),
    (fills_with_a_string, "cannot convert zero of type <class 'str'>", "help: use a tensor or a number"),
    (fills_without_a_mask, "`other` cannot be provided without `mask`", "help: say where `other` is taken"),
    (misspells_a_keyword, "unexpected keyword argument 'msk'", "help: load(pointer, mask=None, other=None"),
    (leaves_an_argument_out, "missing 1 required positional argument: 'pointer'", "help: load(pointer"),
    (gives_too_many_arguments, "program_id() takes 2 positional arguments", "help: program_id(axis)"),
    (names_an_unknown_cache_modifier, "Cache modifier .zz not supported", "help: use '.ca', '.cg', '.cs', '.cv'"),
    (calls_plain_python, "Unsupported function referenced: <function plain", "help: decorate it with @triton.jit"),
    (reduces_with_plain_python, "Unsupported function referenced", "help: decorate it with @triton.jit"),
    (reads_a_global, "Cannot access global variable NUMBER", "help: write `NUMBER = tl.constexpr(...)`"),
    (makes_an_object, "Cannot access global variable Box", "help: "),
    (multiplies_32_by_16, "([16, 16]) and second input shape [32, 16]"),
    (loops_while_a_block, "more than one value is ambiguous", "help: select elements with tl.where"),
    (branches_on_a_block, "more than one value is ambiguous", "help: select elements with tl.where"),
    (returns_a_value, "a kernel returns nothing, but returns_a_value returns int32", "help: store the result"),
    (assigns_an_element, "__setitem__ is not supported", "help: blocks are values: build a new one with tl.where"),
    (calls_a_number, "'tensor' object is not callable"),
    (casts_to_a_string, "cannot cast to 'float33': it is not a dtype", "help: for example x.to(tl.float32)"),
]


def compile_for_floats(kernel: Any) -> None:
    numbers = [5] * (len(kernel.arg_names) - 1)
    kernel.warmup(triton.MockTensor(tl.float32), *numbers, grid=(1,))


@pytest.mark.parametrize("row", WRONG, ids=[row[0].__name__ for row in WRONG])
def test_a_wrong_kernel_is_refused_at_its_line(
    row: tuple[Any, ...], refused: Callable[..., Any], wrong_line: Callable[[Any], str]
) -> None:
    kernel, *pieces = row
    error = refused(lambda: compile_for_floats(kernel), wrong_line(kernel), *pieces)
    assert str(error).startswith(wrong_line(kernel))


@triton.jit
def inner(n):
    return tl.load(n)  # wrong


@triton.jit
def middle(n):
    return inner(n) + 1


@triton.jit
def outer(x, n):
    tl.store(x, middle(n))  # wrong


def test_an_error_in_a_called_function_shows_the_call_and_the_place_of_the_reason(
    refused: Callable[..., Any], wrong_line: Callable[[Any], str]
) -> None:
    error = refused(
        lambda: compile_for_floats(outer),
        wrong_line(outer),
        "in a function called from here: Unsupported ptr type",
        f"(at {wrong_line(inner)}:12)",
        "help: pass a pointer",
    )
    assert str(error).startswith(wrong_line(outer))


@triton.jit
def takes_any_name(x, **rest):
    tl.store(x, 1.0)


def test_parameters_of_undeclared_names_are_refused(refused: Callable[..., Any]) -> None:
    refused(
        lambda: takes_any_name[(1,)](np.zeros(1, np.float32), 5),
        __file__,
        "parameters by names that are not declared are not supported: rest",
        "help: name each",
    )


@triton.jit
def asserts(x):
    tl.static_assert(1 == 2, "one is not two")  # wrong


def test_a_failed_static_assertion_shows_its_message(
    refused: Callable[..., Any], wrong_line: Callable[[Any], str]
) -> None:
    refused(lambda: compile_for_floats(asserts), wrong_line(asserts), "one is not two")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (lambda x: x, "@jit decorates functions written with `def`"),
        (Box, "@jit decorates functions written with `def`"),
    ],
    ids=["lambda", "class"],
)
def test_only_functions_become_kernels(thing: Any, message: str, refused: Callable[..., Any]) -> None:
    refused(lambda: triton.jit(thing), message, "help: ")


def test_a_function_without_a_file_is_no_kernel(refused: Callable[..., Any]) -> None:
    scope: dict[str, Any] = {}
    exec("def f(x): pass", scope)
    refused(
        lambda: triton.jit(scope["f"]), "should be defined in a Python file", "help: put the kernel into a .py file"
    )


def test_a_number_is_no_kernel() -> None:
    with pytest.raises(TypeError, match="@jit decorates functions, not int"):
        triton.jit(3)  # pyright: ignore[reportArgumentType, reportCallIssue]
