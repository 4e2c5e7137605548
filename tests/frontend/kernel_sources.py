"""Kernels that must not compile, and a few that must; line numbers below count from each `def`."""

# ruff: noqa: B007, B018, F821, F841 (kernels are written to be compiled, not to be run)

import minitriton as triton
import minitriton.language as tl

GLOBAL = 42
ANNOTATED_GLOBAL: tl.constexpr = 42
CONSTEXPR_GLOBAL = tl.constexpr(42)
TYPE_ALIAS = tl.pointer_type(tl.int32)


@triton.jit
def undefined_variable():
    a += 1


@triton.jit
def adds_a_string():
    0 + "a"


@triton.jit
def asserts_falsehood():
    tl.static_assert(isinstance(0, tl.tensor), "zero is no tensor")


@triton.jit
def negates_a_tuple():
    not (0, 0)


@triton.jit
def shifts_a_float():
    1.0 << 1


@triton.jit
def nested_call():
    xyz


@triton.jit
def calls_a_wrong_function():
    # the call is on the third line
    nested_call()


@triton.jit
def expands_none():
    tl.expand_dims(None, -1)


@triton.jit
def range_of_five():
    tl.arange(2, 7)


@triton.jit
def shape_of_33():
    tl.full((33,), 0, dtype=tl.int64)


@triton.jit
def run_time_shape(n):
    tl.zeros((n, 2), tl.float32)


@triton.jit
def run_time_range(n):
    tl.arange(0, n)


@triton.jit
def reads_a_global():
    a = GLOBAL


@triton.jit
def reads_an_annotated_global():
    a = ANNOTATED_GLOBAL


@triton.jit
def reads_allowed_globals(b=GLOBAL):
    a = CONSTEXPR_GLOBAL
    t = TYPE_ALIAS
    return


@triton.jit
def loads_a_number(n):
    tl.load(n)


@triton.jit
def stores_a_block_through_a_scalar(ptr):
    tl.store(ptr, tl.arange(0, 4))


@triton.jit
def masks_with_integers(ptr):
    i = tl.arange(0, 4)
    tl.load(ptr + i, mask=i)


@triton.jit
def adds_blocks_of_two_shapes():
    tl.arange(0, 4) + tl.arange(0, 8)


@triton.jit
def multiplies_a_pointer(ptr):
    ptr * 2


@triton.jit
def adds_pointers(ptr):
    ptr + ptr


@triton.jit
def divides_mixed_signs(x_ptr):
    x = tl.load(x_ptr)
    x // tl.load(x_ptr).to(tl.uint32)


@triton.jit
def exp_of_half(ptr):
    tl.exp(tl.load(ptr))


@triton.jit
def defines_a_function(x):
    @triton.jit
    def twice(y):
        return 2 * y

    twice(x)


@triton.jit
def promises_a_negative_run():
    tl.max_contiguous(tl.arange(0, 8), -4)


@triton.jit
def sorts_a_scalar(x):
    tl.sort(x)


@triton.jit
def stands_still(x):
    for _ in range(0, x, 0):
        tl.sqrt(x)


@triton.jit
def root_of_an_integer():
    tl.sqrt(4)


@triton.jit
def rounds_an_integer_down():
    tl.floor(4)


@triton.jit
def fma_of_integers(x):
    tl.fma(x, x, 1)


@triton.jit
def transposes_a_number():
    tl.trans(4)


@triton.jit
def splits_a_number():
    tl.split(4)


@triton.jit
def sums_a_number():
    tl.sum(4)


@triton.jit
def branches_on_a_block(ptr):
    if tl.load(ptr + tl.arange(0, 4)) > 0:
        tl.store(ptr, 1.0)


@triton.jit
def returns_in_a_loop(n):
    for i in range(n):
        if i == 5:
            return


@triton.jit
def breaks(n):
    for i in range(n):
        break


@triton.jit
def changes_type_in_a_loop(n):
    acc = 0
    for i in range(n):
        acc += 1.5


@triton.jit
def changes_none_in_a_loop(n):
    acc = None
    for i in range(n):
        acc = i + 1


@triton.jit
def changes_type_in_a_branch(n):
    x = 1
    if n > 0:
        x = 2.0


@triton.jit
def two_types_in_two_branches(n):
    if n > 0:
        x = 1
    else:
        x = 2.0


@triton.jit
def loops_over_floats():
    for i in range(1.5):
        pass


@triton.jit
def reassigns_a_constexpr():
    a: tl.constexpr = 1
    a: tl.constexpr = 2


@triton.jit
def assigns_an_element(ptr):
    x = tl.arange(0, 4)
    x[0] = 1


@triton.jit
def indexes_a_block(ptr):
    x = tl.arange(0, 4)[0]


@triton.jit
def unknown_keyword(ptr):
    tl.load(ptr, msk=True)


@triton.jit
def takes_two(a, b):
    return a + b


@triton.jit
def calls_with_one(n):
    takes_two(n)


@triton.jit
def returns_two_types(N):
    if N == 0:
        return tl.arange(0, 4)
    else:
        return tl.arange(0, 8)


@triton.jit
def calls_returns_two_types(N):
    returns_two_types(N)


@triton.jit
def recursive(n):
    return recursive(n)


@triton.jit
def calls_recursive(n):
    recursive(n)


@triton.jit
def small_dot():
    a = tl.full((8, 8), 0.0, tl.float16)
    tl.dot(a, a)


@triton.jit
def mixed_dot():
    tl.dot(tl.full((16, 16), 0.0, tl.float16), tl.full((16, 16), 0.0, tl.float32))


@triton.jit
def uses_fp8e4nv():
    tl.full((16, 16), 0.0, tl.float8e4nv)


@triton.must_use_result("These are extra words in the error message.")
@triton.jit
def cube(x):
    return x * x * x


@triton.jit
def drops_a_result(n):
    cube(n)


@triton.jit
def drops_advance(ptr):
    p = tl.make_block_ptr(ptr, (4,), (1,), (0,), (4,), (0,))
    tl.advance(p, (4,))


@triton.jit(do_not_specialize=["N"])
def constexpr_and_do_not_specialize(N: tl.constexpr):
    pass


@triton.jit
def formats_a_tensor(n):
    tl.static_assert(False, f"{n}")


@triton.jit
def two_returns():
    return tl.arange(0, 4)
    return tl.arange(0, 8)


@triton.jit
def uses_two_returns():
    a = two_returns()
    a + tl.arange(0, 4)


@triton.jit
def uses_the_loop_variable_afterwards(n):
    for i in range(3, 3):
        pass
    a = i


@triton.jit
def selects_by_integers():
    tl.where(tl.full((64,), 0, tl.uint32), 1.0, 2.0)


@triton.jit
def calls_by_a_wrong_keyword(n):
    takes_two(n, c=n)


@triton.jit
def multiplies_matrices(n):
    a = tl.zeros((16, 16), tl.float16)
    b = a @ a


@triton.jit
def raises_to_a_power(n):
    a = n**3


@triton.jit
def reshapes_to_more(n):
    a = tl.reshape(tl.arange(0, 64), (8, 16))


@triton.jit
def appends_to_a_list(n):
    values = [n]
    values.append(n)


@triton.jit
def masks_a_block_pointer(ptr):
    block = tl.make_block_ptr(ptr, (4,), (1,), (0,), (4,), (0,))
    a = tl.load(block, mask=tl.arange(0, 4) < 2)


@triton.jit
def passes_a_range(n):
    takes_two(n, tl.range(n))


@triton.jit
def passes_a_condition(n):
    takes_two(n, tl.condition(n > 0))
