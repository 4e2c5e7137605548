"""Kernels that grow: for each family a function from a size `n` to the text of a Triton program with one kernel, `kernel`.

    FAMILIES["loads"].program(30)     a kernel with 30 loads of tiles

What a family repeats are things that kernels have many of when a program writes them, or a person by `tl.static_range`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

HEAD = "import triton\nimport triton.language as tl\n\n"
SIZES = (10, 30, 100, 300, 1000, 3000)
TILES = (1024, 4096, 16384, 65536, 262144, 1048576)
SQUARES = (16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Program:
    """A kernel of size `n`: its text, what its arguments are, and how it is launched."""

    text: str
    signature: dict[str, str]
    constexprs: dict[str, int] = field(default_factory=dict)
    num_warps: int = 4
    aligned: tuple[str, ...] = ()
    """Pointers that are divisible by 16."""

    @property
    def attributes(self) -> dict[tuple[int, ...], list[list[object]]]:
        """What is known of the arguments, by position."""
        names = list(self.signature)
        return {(names.index(name),): [["tt.divisibility", 16]] for name in self.aligned}


@dataclass(frozen=True)
class Family:
    """Programs of many sizes; `compared_from` is the size from which Triton's time is the measure."""

    program: Callable[[int], Program]
    sizes: tuple[int, ...] = SIZES
    compared_from: int = 30


def _kernel(body: list[str], helpers: str = "", num_warps: int = 4, block: int = 128) -> Program:
    """A kernel of `x_ptr`, `y_ptr` (f32) and `n` whose `body` works on tiles `x` and `y` of `BLOCK`, and on a scalar `s`."""
    lines = [
        "@triton.jit",
        "def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):",
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "    x = tl.load(x_ptr + offsets)",
        "    y = tl.load(y_ptr + offsets)",
        "    s = n",
        *(f"    {line}" for line in body),
        "    tl.store(y_ptr + offsets, x + y + s)",
    ]
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    return Program(HEAD + helpers + "\n".join(lines) + "\n", signature, {"BLOCK": block}, num_warps)


def statements(n: int) -> Program:
    """A chain of multiply-adds."""
    return _kernel([f"x = x * {1 + i / 1024} + y" for i in range(n)])


def mixed_statements(n: int) -> Program:
    """Chains of many ops on floats, integers and booleans, with each result used twice."""
    made = [
        "x = tl.maximum(x - y, tl.exp(y))",
        "y = tl.where(x > y, x, y * 0.5)",
        "i = (i + offsets) ^ (i >> 3)",
        "x = x + i.to(tl.float32)",
    ]
    return _kernel(["i = offsets"] + [made[i % len(made)] for i in range(n)])


def scalars(n: int) -> Program:
    """Arithmetic on scalars."""
    return _kernel([f"s = s * {i % 13 + 2} + (s >> {i % 7 + 1})" for i in range(n)])


def loads(n: int) -> Program:
    """Loads of tiles, added up."""
    return _kernel([f"x += tl.load(x_ptr + offsets + {(i + 1) * 1024})" for i in range(n)])


def same_loads(n: int) -> Program:
    """Loads of one tile again and again, with others between."""
    return _kernel([f"x += tl.load(x_ptr + offsets + {i % 3 and i} * 1024)" for i in range(n)])


def masked_loads(n: int) -> Program:
    """Loads of tiles under masks, added up."""
    return _kernel(
        [f"x += tl.load(x_ptr + offsets + {(i + 1) * 1024}, mask=offsets + {(i + 1) * 1024} < n)" for i in range(n)]
    )


def scalar_loads(n: int) -> Program:
    """Loads of single numbers."""
    return _kernel([f"s += tl.load(x_ptr + {i}).to(tl.int32)" for i in range(n)])


def stores(n: int) -> Program:
    """Stores of tiles."""
    return _kernel([f"tl.store(x_ptr + offsets + {(i + 1) * 1024}, x + {i})" for i in range(n)])


def atomics(n: int) -> Program:
    """Atomic additions of tiles."""
    return _kernel([f"tl.atomic_add(x_ptr + offsets + {(i + 1) * 1024}, x + {i})" for i in range(n)])


def loops(n: int) -> Program:
    """Loops one after another."""
    body: list[str] = []
    for i in range(n):
        body += [f"for i in range(0, n, {i + 1}):", "    x += y * i"]
    return _kernel(body)


def load_loops(n: int) -> Program:
    """Loops that load tiles, one after another."""
    body: list[str] = []
    for i in range(n):
        body += [f"for i in range(0, n, {i + 1}):", "    x += tl.load(x_ptr + offsets + i * BLOCK)"]
    return _kernel(body)


def nested_loops(n: int) -> Program:
    """A loop in a loop, `n` deep: one more function for each level."""
    levels = ["@triton.jit\ndef level0(x, y, n):\n    return x + y\n"]
    for i in range(1, n + 1):
        levels.append(
            f"@triton.jit\ndef level{i}(x, y, n):\n    for i in range(n):\n        x = level{i - 1}(x, y, n) + i\n    return x\n"
        )
    return _kernel([f"x = level{n}(x, y, n)"], "\n".join(levels) + "\n")


def while_loops(n: int) -> Program:
    """`while` loops one after another."""
    body: list[str] = []
    for i in range(n):
        body += [f"while s > {i}:", f"    s = s // {i % 5 + 2}"]
    return _kernel(body)


def carried(n: int) -> Program:
    """One loop that carries `n` tiles."""
    names = [f"c{i}" for i in range(n)]
    body = [f"{name} = y * {i}" for i, name in enumerate(names)] + ["for i in range(n):"]
    body += [f"    {name} += tl.load(x_ptr + offsets + i * {k + 1})" for k, name in enumerate(names)]
    return _kernel([*body, *(f"x += {name}" for name in names)])


def twins(n: int) -> Program:
    """One loop that carries two tiles that are equal, as a chain of `n` statements on each shows."""
    body = ["a = x", "b = x", "for i in range(n):"]
    body += [f"    {name} = {name} * {name} + {i}.5" for i in range(n) for name in ("a", "b")]
    return _kernel([*body, "x = a - b"])


def returns(n: int) -> Program:
    """Early returns, each of which leaves something in memory."""
    body: list[str] = []
    for i in range(n):
        body += [f"if n == {i * 3}:", f"    tl.store(x_ptr + offsets, y + {i}, mask=offsets < n)", "    return"]
    return _kernel(body)


def live_loads(n: int) -> Program:
    """Loads of tiles, all of them before what uses them."""
    loaded = [f"v{i} = tl.load(x_ptr + offsets + {(i + 1) * 1024}, mask=offsets < n, other=0.0)" for i in range(n)]
    return _kernel([*loaded, *(f"x = tl.maximum(x, v{i})" for i in range(n))])


def branches(n: int) -> Program:
    """`if` with `else` on a scalar."""
    body: list[str] = []
    for i in range(n):
        body += [f"if s > {i}:", f"    s = s * {i % 7 + 3}", "else:", f"    s = s - {i % 11 + 1}"]
    return _kernel(body)


def tile_branches(n: int) -> Program:
    """`if` without `else` around tiles."""
    body: list[str] = []
    for i in range(n):
        body += [f"if n > {i}:", f"    x = x * y + {i}"]
    return _kernel(body)


def elifs(n: int) -> Program:
    """One `if` with `n` times `elif`."""
    body = ["if n == 0:", "    s = s + 1"]
    for i in range(1, n):
        body += [f"elif n == {i * 3}:", f"    s = s * {i % 7 + 3}"]
    return _kernel([*body, "else:", "    s = s - 1"])


def arguments(n: int) -> Program:
    """Pointers, each loaded from."""
    names = [f"p{i}" for i in range(n)]
    lines = [
        "@triton.jit",
        f"def kernel(out_ptr, {', '.join(names)}, BLOCK: tl.constexpr):",
        "    offsets = tl.arange(0, BLOCK)",
        "    x = tl.zeros((BLOCK,), tl.float32)",
        *(f"    x += tl.load({name} + offsets)" for name in names),
        "    tl.store(out_ptr + offsets, x)",
    ]
    signature = dict.fromkeys(["out_ptr", *names], "*fp32") | {"BLOCK": "constexpr"}
    return Program(HEAD + "\n".join(lines) + "\n", signature, {"BLOCK": 128})


def scalar_arguments(n: int) -> Program:
    """Integers, all of them added up."""
    names = [f"a{i}" for i in range(n)]
    lines = [
        "@triton.jit",
        f"def kernel(out_ptr, {', '.join(names)}):",
        "    s = 0",
        *(f"    s += {name}" for name in names),
        "    tl.store(out_ptr, s)",
    ]
    return Program(HEAD + "\n".join(lines) + "\n", {"out_ptr": "*i32", **dict.fromkeys(names, "i32")})


def calls(n: int) -> Program:
    """Calls of one function."""
    return _kernel([f"x = helper(x, y, {i})" for i in range(n)], _helper("helper"))


def different_calls(n: int) -> Program:
    """Calls of `n` functions."""
    return _kernel([f"x = helper{i}(x, y, {i})" for i in range(n)], "".join(_helper(f"helper{i}") for i in range(n)))


def calls_not_inlined(n: int) -> Program:
    """Calls of `n` functions that stay functions."""
    helpers = "".join(_helper(f"helper{i}", "@triton.jit(noinline=True)") for i in range(n))
    return _kernel([f"s = helper{i}(s, s, {i})" for i in range(n)], helpers)


def _helper(name: str, decorator: str = "@triton.jit") -> str:
    return f"{decorator}\ndef {name}(a, b, c):\n    a = a * b + c\n    return a - b\n\n"


def unrolled(n: int) -> Program:
    """`tl.static_range` over a load, a product and a store."""
    return _kernel(
        [
            f"for i in tl.static_range({n}):",
            "    tl.store(y_ptr + offsets + i * BLOCK, tl.load(x_ptr + offsets + i) * y)",
        ]
    )


def _tile(body: list[str], rows: int, columns: int, num_warps: int = 4) -> Program:
    """A kernel over tiles `x` and `y` of `R` by `C`, with `rows` and `columns` their offsets."""
    lines = [
        "@triton.jit",
        "def kernel(x_ptr, y_ptr, n, R: tl.constexpr, C: tl.constexpr):",
        "    rows = tl.arange(0, R)[:, None]",
        "    columns = tl.arange(0, C)[None, :]",
        "    x = tl.load(x_ptr + rows * C + columns)",
        "    y = tl.load(y_ptr + rows * C + columns)",
        *(f"    {line}" for line in body),
    ]
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "R": "constexpr", "C": "constexpr"}
    return Program(HEAD + "\n".join(lines) + "\n", signature, {"R": rows, "C": columns}, num_warps)


def conversions(n: int) -> Program:
    """Transposes of a tile in a row, which shared memory carries from layout to layout."""
    return _tile(
        ["for_store = y_ptr + rows * C + columns"]
        + ["x = tl.trans(x) + y" for _ in range(n)]
        + ["tl.store(for_store, x)"],
        32,
        32,
    )


def reductions(n: int) -> Program:
    """Sums of tiles along both axes in turn."""
    return _tile(
        [f"x = x - tl.sum(x * y, {i % 2})[{'None, :' if i % 2 == 0 else ':, None'}]" for i in range(n)]
        + ["tl.store(y_ptr + rows * C + columns, x)"],
        32,
        32,
    )


def scans(n: int) -> Program:
    """Cumulative sums of a tile."""
    return _tile(
        [f"x = tl.cumsum(x, {i % 2}) * y" for i in range(n)] + ["tl.store(y_ptr + rows * C + columns, x)"], 32, 32
    )


def dots(n: int) -> Program:
    """Products of matrices one after another."""
    return _tile(
        ['x = tl.dot(x, y, input_precision="ieee")' for _ in range(n)] + ["tl.store(y_ptr + rows * C + columns, x)"],
        16,
        16,
    )


def dot_tiles(n: int) -> Program:
    """One product of `n` by `n` matrices, by multiply-adds."""
    return _tile(['x = tl.dot(x, y, input_precision="ieee")', "tl.store(y_ptr + rows * C + columns, x)"], n, n, 8)


def transposed_tiles(n: int) -> Program:
    """An `n` by `n` tile transposed, with a sum of its rows."""
    return _tile(
        ["t = tl.trans(x)", "tl.store(x_ptr + rows, tl.sum(t, 1)[:, None])", "tl.store(y_ptr + rows * C + columns, t)"],
        n,
        n,
    )


def reduced_tiles(n: int) -> Program:
    """A sum along the slow axis of an `n` by `n` tile."""
    return _tile(["tl.store(y_ptr + columns, tl.sum(x * y, 0)[None, :])"], n, n)


def scanned_tiles(n: int) -> Program:
    """A cumulative sum along the slow axis of an `n` by `n` tile."""
    return _tile(["tl.store(y_ptr + rows * C + columns, tl.cumsum(x, 0))"], n, n)


def sorted_tiles(n: int) -> Program:
    """`n` numbers, sorted."""
    return _kernel(["x = tl.sort(x)"], block=n)


def tiles(n: int) -> Program:
    """One tile of `n` elements, copied."""
    return _kernel(["x = x * y"], block=n)


def masked_tiles(n: int) -> Program:
    """One tile of `n` elements, copied under a mask."""
    lines = [
        "@triton.jit",
        "def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):",
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "    mask = offsets < n",
        "    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)",
    ]
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    return Program(HEAD + "\n".join(lines) + "\n", signature, {"BLOCK": n}, aligned=("x_ptr", "y_ptr"))


def pointwise(n: int) -> Program:
    """As Inductor writes big pointwise kernels: every line a name of its own, each used again some lines later."""
    made = ("tmp{a} * tmp{b}", "tmp{a} + tmp{b}", "tl.where(tmp{a} > tmp{b}, tmp{a}, tmp{b})", "tl.sigmoid(tmp{a})")
    body = ["mask = offsets < n", "tmp0 = x", "tmp1 = y"]
    for i in range(2, n + 2):
        form = "tl.load(x_ptr + (offsets + {i}), mask, other=0.0) + tmp{a}" if i % 5 == 0 else made[i % 5 - 1]
        body.append(f"tmp{i} = " + form.format(i=i, a=i - 1, b=max(i - 7, 0)))
    return _kernel([*body, f"x = tmp{n + 1}"])


def wheres(n: int) -> Program:
    """A chain of choices."""
    return _kernel([f"x = tl.where(x > {i}, x * y, y - x)" for i in range(n)])


def nested_branches(n: int) -> Program:
    """A branch in a branch, `n` deep: one more function for each level."""
    levels = ["@triton.jit\ndef level0(s, n):\n    return s + n\n"]
    for i in range(1, n + 1):
        levels.append(
            f"@triton.jit\ndef level{i}(s, n):\n    if n > {i}:\n        s = level{i - 1}(s, n) * 3\n    else:\n        s = s - {i}\n    return s\n"
        )
    return _kernel([f"s = level{n}(s, n)"], "\n".join(levels) + "\n")


def constexpr_branches(n: int) -> Program:
    """`if` with `else` on what is known at compile time."""
    body: list[str] = []
    for i in range(n):
        body += [f"if BLOCK == {i}:", "    x = x + 1", "else:", f"    x = x * {i} + y"]
    return _kernel(body)


def tuples(n: int) -> Program:
    """A tuple of `n` tiles, handed to a function that adds them up and hands it back."""
    helper = (
        "@triton.jit\ndef total(t, N: tl.constexpr):\n    s = t[0]\n"
        "    for i in tl.static_range(1, N):\n        s = s + t[i]\n    return s, t\n\n"
    )
    made = ", ".join(f"x * {i}" for i in range(n))
    return _kernel([f"t = ({made},)", f"x, u = total(t, {n})", f"x = x + u[{n - 1}]"], helper)


def random_numbers(n: int) -> Program:
    """Tiles of random numbers, added up."""
    return _kernel([f"x += tl.rand(n + {i}, offsets)" for i in range(n)])


def block_pointers(n: int) -> Program:
    """Loads through a block pointer that moves on."""
    body = [
        "p = tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (16, 32), (1, 0))",
        "z = tl.zeros((16, 32), tl.float32)",
    ]
    for _ in range(n):
        body += ["z += tl.load(p, boundary_check=(0, 1))", "p = tl.advance(p, (0, 32))"]
    return _kernel([*body, "x += tl.sum(z)"])


def descriptors(n: int) -> Program:
    """Descriptors that the kernel makes, each loaded from."""
    names = [f"p{i}" for i in range(n)]
    lines = [
        "@triton.jit",
        f"def kernel(out_ptr, {', '.join(names)}, n, BLOCK: tl.constexpr):",
        "    offsets = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]",
        "    x = tl.zeros((BLOCK, BLOCK), tl.float32)",
    ]
    for name in names:
        lines.append(f"    d{name} = tl.make_tensor_descriptor({name}, [n, n], [n, 1], [BLOCK, BLOCK])")
        lines.append(f"    x += d{name}.load([0, 0])")
    signature = dict.fromkeys(["out_ptr", *names], "*fp32") | {"n": "i32", "BLOCK": "constexpr"}
    return Program(HEAD + "\n".join([*lines, "    tl.store(out_ptr + offsets, x)"]) + "\n", signature, {"BLOCK": 32})


def inline_assembly(n: int) -> Program:
    """A chain of instructions written as PTX."""
    call = "tl.inline_asm_elementwise('fma.rn.f32 $0, $1, $2, $1;', '=r,r,r', [x, y], dtype=tl.float32, is_pure=True, pack=1)"
    return _kernel([f"x = {call}" for _ in range(n)])


def gathers(n: int) -> Program:
    """Elements of a tile picked by others' numbers."""
    return _kernel([f"x = tl.gather(x, (offsets + {i}) % BLOCK, 0) + y" for i in range(n)])


def histograms(n: int) -> Program:
    """Histograms, each of the one before."""
    counted = [f"h = tl.histogram((offsets + h + {i}) % 128, 128)" for i in range(n)]
    return _kernel(["h = tl.zeros((128,), tl.int32)", *counted, "x += h"])


def scalar_atomics(n: int) -> Program:
    """Atomic additions of single numbers."""
    return _kernel([f"s += tl.atomic_add(y_ptr + {i}, 1.0).to(tl.int32)" for i in range(n)])


def _products(body: list[str]) -> Program:
    """A kernel over tiles `a` and `b` (f16) and `c` (f32) of 64 by 64, with `o` their offsets."""
    lines = [
        "@triton.jit",
        "def kernel(a_ptr, b_ptr, c_ptr, K, B: tl.constexpr):",
        "    o = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]",
        "    a = tl.load(a_ptr + o)",
        "    b = tl.load(b_ptr + o)",
        "    c = tl.zeros((B, B), tl.float32)",
        *(f"    {line}" for line in body),
        "    tl.store(c_ptr + o, c)",
    ]
    pointers = ("a_ptr", "b_ptr", "c_ptr")
    signature = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "K": "i32", "B": "constexpr"}
    return Program(HEAD + "\n".join(lines) + "\n", signature, {"B": 64}, aligned=(*pointers, "K"))


def tensor_core_products(n: int) -> Program:
    """Products on tensor cores, each of the one before."""
    return _products([*("a = tl.dot(a, b).to(tl.float16)" for _ in range(n)), "c += a"])


def product_loops(n: int) -> Program:
    """Loops over products on tensor cores, one after another."""
    body: list[str] = []
    for i in range(n):
        body += [
            "for k in range(0, K, 64):",
            f"    c = tl.dot(tl.load(a_ptr + o + k), tl.load(b_ptr + o + k * {i + 1}), c)",
        ]
    return _products(body)


FAMILIES: dict[str, Family] = {
    "statements": Family(statements),
    "mixed statements": Family(mixed_statements),
    "pointwise": Family(pointwise),
    "scalars": Family(scalars),
    "loads": Family(loads),
    "same loads": Family(same_loads),
    "masked loads": Family(masked_loads),
    "scalar loads": Family(scalar_loads),
    "stores": Family(stores),
    "atomics": Family(atomics),
    "unrolled": Family(unrolled),
    "live loads": Family(live_loads),
    "loops": Family(loops),
    "carried values": Family(carried),
    "equal values in a loop": Family(twins),
    "loops with loads": Family(load_loops),
    "nested loops": Family(nested_loops),
    "while loops": Family(while_loops),
    "branches": Family(branches),
    "branches on tiles": Family(tile_branches),
    "returns": Family(returns),
    "elifs": Family(elifs),
    "arguments": Family(arguments),
    "scalar arguments": Family(scalar_arguments),
    "calls": Family(calls),
    "different calls": Family(different_calls),
    "calls not inlined": Family(calls_not_inlined),
    "conversions": Family(conversions),
    "reductions": Family(reductions),
    "scans": Family(scans),
    "dots": Family(dots),
    "wheres": Family(wheres),
    "nested branches": Family(nested_branches),
    "branches at compile time": Family(constexpr_branches),
    "tuples": Family(tuples),
    "random numbers": Family(random_numbers),
    "block pointers": Family(block_pointers),
    "descriptors": Family(descriptors),
    "inline assembly": Family(inline_assembly),
    "gathers": Family(gathers),
    "histograms": Family(histograms),
    "scalar atomics": Family(scalar_atomics),
    "products": Family(tensor_core_products),
    "loops with products": Family(product_loops),
    "dot of n x n": Family(dot_tiles, (16, 32, 64, 128)),
    "transpose of n x n": Family(transposed_tiles, SQUARES),
    "sum of n x n": Family(reduced_tiles, SQUARES),
    "scan of n x n": Family(scanned_tiles, SQUARES),
    "sort of n": Family(sorted_tiles, (64, 256, 1024, 4096)),
    "tile of n": Family(tiles, TILES),
    "masked tile of n": Family(masked_tiles, TILES),
}
