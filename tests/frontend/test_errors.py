"""A wrong kernel gives an error that names its line and says what to do."""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any

import kernel_sources as k
import pytest
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.frontend.code_generator import ast_to_ttir
from minitriton.frontend.errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from minitriton.language import core
from minitriton.target import CUDAOptions, GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


def compile_kernel(kernel: Any, signature: str = "", target: GPUTarget = HOPPER) -> ModuleOp:
    types = dict(zip(kernel.arg_names, filter(None, signature.split(", ")), strict=True))
    return ast_to_ttir(kernel, types, {}, {}, CUDAOptions.for_target(target), target)


def error_of(kernel: Any, signature: str = "", **options: Any) -> CompilationError:
    with pytest.raises(CompilationError) as caught:
        compile_kernel(kernel, signature, **options)
    return caught.value


WRONG = [
    ("undefined_variable", "", "at 2:4", "a is not defined"),
    ("adds_a_string", "", "at 2:4", "unsupported operand"),
    ("shifts_a_float", "", "at 2:4", "unsupported operand"),
    ("negates_a_tuple", "", "at 2:4", "not (currently) implemented"),
    ("expands_none", "", "at 2:4", "cannot convert None"),
    ("range_of_five", "", "at 2:4", "arange's range must be a power of 2"),
    ("shape_of_33", "", "at 2:4", "Shape element 0 must be a power of 2"),
    ("run_time_shape", "i32", "at 2:4", "make it a tl.constexpr parameter"),
    ("run_time_range", "i32", "at 2:4", "annotate the parameter"),
    ("reads_a_global", "", "at 2:8", "Cannot access global variable GLOBAL"),
    ("reads_an_annotated_global", "", "at 2:8", "Cannot access global variable ANNOTATED_GLOBAL"),
    ("passes_a_range", "i32", "at 2:4", "tl.range cannot be an argument"),
    ("passes_a_condition", "i32", "at 2:4", "tl.condition cannot be an argument"),
    ("loads_a_number", "i32", "at 2:4", "pass a pointer"),
    ("stores_a_block_through_a_scalar", "*i32", "at 2:4", "Value argument cannot be block type"),
    ("masks_with_integers", "*i32", "at 3:4", "Mask must have boolean scalar type"),
    ("adds_blocks_of_two_shapes", "", "at 2:4", "incompatible dimensions at index 0: 4 and 8"),
    ("multiplies_a_pointer", "*fp32", "at 2:4", "load the values first"),
    ("adds_pointers", "*fp32", "at 2:4", "cannot add pointers together"),
    ("divides_mixed_signs", "*i32", "at 3:4", "different signedness"),
    ("exp_of_half", "*fp16", "at 2:4", "cast first: .to(tl.float32)"),
    ("defines_a_function", "i32", "at 3:4", "help: write it as a function of the module"),
    ("promises_a_negative_run", "", "at 2:4", "values element 0 of max_contiguous must be positive, got -4"),
    ("sorts_a_scalar", "i32", "at 2:4", "a scalar lacks dimensions"),
    ("stands_still", "i32", "at 2:4", "the step of a loop must not be zero"),
    ("root_of_an_integer", "", "at 2:4", "Expected dtype ['fp32', 'fp64'] but got int32"),
    ("rounds_an_integer_down", "", "at 2:4", "Expected dtype ['fp32', 'fp64'] but got int32"),
    ("fma_of_integers", "i32", "at 2:4", "write x * y + z"),
    ("transposes_a_number", "", "at 2:4", "tl.trans invoked with a 0- or 1-dimensional tensor"),
    ("splits_a_number", "", "at 2:4", "split takes a block whose last dimension is 2"),
    (
        "sums_a_number",
        "",
        "at 2:4",
        "parameter input was given 4, and constants passed in a call are compile-time constants",
    ),
    ("branches_on_a_block", "*fp32", "at 2:4", "Boolean value of Tensor with more than one value is ambiguous"),
    ("returns_in_a_loop", "i32", "at 3:8", "Cannot have `return` statements inside `while` or `for` statements"),
    ("breaks", "i32", "at 3:8", "unsupported AST node type: Break"),
    ("changes_type_in_a_loop", "i32", "at 3:4", "Loop-carried variable acc has initial type int32"),
    ("changes_none_in_a_loop", "i32", "at 3:4", "Loop carried variable acc is not a triton value"),
    ("changes_type_in_a_branch", "i32", "at 3:4", "initial value for `x` is of type int32"),
    ("two_types_in_two_branches", "i32", "at 2:4", "Mismatched type for x"),
    ("loops_over_floats", "", "at 2:4", "For loop bounds and step must all be ints"),
    ("reassigns_a_constexpr", "", "at 3:4", "a is already defined"),
    ("assigns_an_element", "*fp32", "at 3:4", "__setitem__ is not supported"),
    ("indexes_a_block", "*fp32", "at 2:8", "unsupported tensor index"),
    ("unknown_keyword", "*fp32", "at 2:4", "unexpected keyword argument 'msk'"),
    ("calls_with_one", "i32", "at 2:4", "missing 1 required positional argument: 'b'"),
    ("small_dot", "", "at 3:4", "Input shapes should have M >= 1, N >= 1 and K >= 16"),
    ("mixed_dot", "", "at 2:4", "Both operands must be same dtype"),
    ("drops_advance", "*fp32", "at 3:4", "The result of tl.advance is not being used. Note that"),
    ("drops_a_result", "i32", "at 2:4", "The result of cube is not being used. These are extra words"),
    ("constexpr_and_do_not_specialize", "constexpr", "at 1:", "N marked as constexpr and listed in do_not_specialize"),
    ("calls_with_one", "i32", "at 2:4", "help: takes_two(a, b)"),
    ("calls_by_a_wrong_keyword", "i32", "at 2:4", "takes_two() got an unexpected keyword argument 'c'"),
    ("multiplies_matrices", "i32", "at 3:8", "help: write tl.dot(a, b)"),
    ("raises_to_a_power", "i32", "at 2:8", "help: write x * x, or libdevice.pow"),
    ("reshapes_to_more", "i32", "at 2:8", "it has 64, of the shape [64]; [8, 16] has 128"),
    ("appends_to_a_list", "i32", "at 3:4", "lists are tuples here and cannot change"),
    ("masks_a_block_pointer", "*fp32", "at 3:8", "help: name the dimensions that may be masked"),
    ("uses_the_loop_variable_afterwards", "i32", "at 4:8", "i is not defined"),
]


@pytest.mark.parametrize(("kernel", "signature", "place", "message"), WRONG, ids=[w[0] for w in WRONG])
def test_error_names_the_place_and_the_reason(kernel: str, signature: str, place: str, message: str) -> None:
    text = str(error_of(getattr(k, kernel), signature))
    assert place in text
    assert message in text


def test_a_function_in_a_kernel_is_refused_at_its_line_by_a_launch_too() -> None:
    with pytest.raises(UnsupportedLanguageConstruct, match="unsupported AST node type: FunctionDef"):
        k.defines_a_function.warmup(2, grid=(1,))


def test_error_has_the_line_in_the_kernels_file() -> None:
    error = error_of(k.loads_a_number, "i32")
    lines, first = inspect.getsourcelines(k.loads_a_number.fn)
    line = first + next(i for i, text in enumerate(lines) if "tl.load" in text)
    assert error.location is not None
    assert (error.location.file, error.location.line) == (k.__file__, line)
    assert str(error).startswith(f"{k.__file__}:{line}:5: error: Unsupported ptr type")
    assert "help: pass a pointer" in str(error)


def test_compilation_errors_are_errors_of_the_package() -> None:
    assert issubclass(CompilationError, MinitritonError)
    assert issubclass(CompileTimeAssertionFailure, CompilationError)
    assert issubclass(UnsupportedLanguageConstruct, CompilationError)


def test_static_assert_is_its_own_error_with_its_message() -> None:
    error = error_of(k.asserts_falsehood)
    assert isinstance(error, CompileTimeAssertionFailure)
    assert error.__cause__ is None
    assert "at 2:4:" in str(error) and "zero is no tensor" in str(error)


def test_error_in_a_called_function_has_both_places() -> None:
    error = error_of(k.calls_a_wrong_function)
    assert "at 3:4" in str(error)
    assert "at 2:4:" in str(error.__cause__) and "xyz is not defined" in str(error.__cause__)


def test_inconsistent_returns_name_the_call_and_the_second_return() -> None:
    error = error_of(k.calls_returns_two_types, "i32")
    assert "at 2:4:" in str(error)
    assert "at 5:8:" in str(error.__cause__) and "Inconsistent return types" in str(error.__cause__)


def test_recursion_is_refused() -> None:
    error: BaseException | None = error_of(k.calls_recursive, "i32")
    messages = []
    while error is not None:
        messages.append(str(error))
        error = error.__cause__
    assert any("kernels cannot recurse" in message or "calls itself" in message for message in messages)


def test_error_of_an_operation_is_the_cause() -> None:
    assert str(error_of(k.range_of_five).__cause__) == "arange's range must be a power of 2"
    assert isinstance(error_of(k.range_of_five).__cause__, ValueError)


def test_the_cause_names_the_operation_and_its_file() -> None:
    cause = error_of(k.range_of_five).__cause__
    assert cause is not None
    assert cause.__notes__ == [f"in the operation arange of {core.__file__}"]


@pytest.mark.parametrize(("arch", "supported"), [(80, False), (89, True), (90, True)])
def test_fp8_dtypes_depend_on_the_target(arch: int, supported: bool) -> None:
    target = GPUTarget("cuda", arch, 32)
    if supported:
        compile_kernel(k.uses_fp8e4nv, target=target)
    else:
        assert "not supported in this architecture" in str(error_of(k.uses_fp8e4nv, target=target))


def test_constexpr_globals_and_type_aliases_are_usable() -> None:
    assert "arith.constant 42 : i32" in print_module(compile_kernel(k.reads_allowed_globals, "i32"))


def test_statements_after_return_are_dead() -> None:
    text = print_module(compile_kernel(k.uses_two_returns))
    assert "two_returns____() -> tensor<4xi32>" in text and "tensor<8xi32>" not in text


def test_message_of_static_assert_may_fail_without_hiding_the_assertion() -> None:
    error = error_of(k.formats_a_tensor, "i32")
    assert isinstance(error, CompileTimeAssertionFailure)
    assert "failed to evaluate assertion message" in str(error)


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(error_of(k.range_of_five)))
    assert str(error) == str(error_of(k.range_of_five))


def test_where_warns_about_conditions_that_are_no_booleans() -> None:
    with pytest.warns(UserWarning, match="non-boolean condition"):
        compile_kernel(k.selects_by_integers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_kernel(k.uses_two_returns)
