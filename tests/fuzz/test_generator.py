"""What the generator makes: the same kernel for the same seed, well-formed, of the types that the front end gives."""

from pathlib import Path

import pytest

import minitriton
import minitriton.language
from minitriton.compiler import ASTSource
from minitriton.dialects.context import make_context
from minitriton.fuzz.generation.generator import generate, kernel_seed
from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running.launch import make_arguments
from minitriton.fuzz.running.oracles import load
from minitriton.fuzz.tree import Assign, Kernel, features_of
from minitriton.fuzz.validity.analysis import analyse
from minitriton.fuzz.validity.facts import Value
from minitriton.target import CUDAOptions, GPUTarget

TARGET = GPUTarget("cuda", 90, 32)


def kernels(seed: int, count: int) -> list[Kernel]:
    return [generate(kernel_seed(seed, number)) for number in range(count)]


def test_a_seed_names_one_kernel() -> None:
    assert [source_of(k) for k in kernels(3, 20)] == [source_of(k) for k in kernels(3, 20)]
    assert len({source_of(k) for k in kernels(3, 20)}) == 20


def test_equal_trees_are_equal_values_and_hash_alike() -> None:
    a, b = generate(5), generate(5)
    assert a == b and hash(a) == hash(b)


@pytest.mark.parametrize("batch", range(4))
def test_types_are_those_of_the_front_end(batch: int, tmp_path: Path) -> None:
    for number in range(15):
        kernel = generate(kernel_seed(batch, 1000 + number))
        analysis = analyse(kernel)
        lines = []
        for name in (s.name for s in kernel.body if isinstance(s, Assign)):
            value: Value = analysis.env[name]
            if not value.type.pointer:
                lines.append(f"    tl.static_assert({name}.dtype == tl.{value.element}, '{name} {value.element}')")
            lines.append(f"    tl.static_assert({name}.shape == {list(value.shape)}, '{name} {value.shape}')")
        path = tmp_path / f"kernel{number}.py"
        path.write_text(source_of(kernel) + "\n".join(lines) + "\n")
        launch = make_arguments(kernel, analysis)
        function = load(path, minitriton, minitriton.language)
        source = ASTSource(function, launch.signature, launch.constants, launch.attrs)
        source.make_ir(TARGET, CUDAOptions.for_target(TARGET), make_context())


def test_the_generator_reaches_the_language() -> None:
    """What the kernels are meant to have in them, all within a few hundred."""
    wanted = {
        "load: masked", "store: masked", "negative stride", "op: div", "op: mod", "op: shl", "op: gather", "op: dot",
        "op: sort", "op: histogram", "op: cumsum", "op: split", "op: join", "op: permute", "op: reshape", "op: exp",
        "op: where", "op: flip", "reduction: axis 0", "reduction: axis 1", "reduction: axis all", "branch",
        "loop: range", "loop: tl.range", "loop: tl.static_range", "loop: while", "loop: bound at run time",
        "call: inlined", "call: noinline", "skewed pointer", "NaN and infinity", "warps: 1", "warps: 8", "grid: 2x2",
        "early return", "another name for a value", "branch: at compile time",
    }  # fmt: skip
    wanted |= {
        f"element: {name}"
        for name in ("int8", "uint8", "int16", "int64", "uint64", "int1", "float16", "bfloat16", "float64", "float8e5")
    }
    wanted |= {f"atomic: {op}" for op in ("add", "max", "min", "and", "or", "xor")}
    for number in range(400):
        wanted -= set(features_of(generate(kernel_seed(1, number))))
        if not wanted:
            return
    assert not wanted


def test_a_product_along_one_element_is_known_in_the_shape_that_is_left() -> None:
    """A later `tl.gather` of it found numbers of three dimensions for a row, and the generator failed."""
    assert source_of(generate(kernel_seed(340, 52)))
