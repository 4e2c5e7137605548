"""`JITCallable`: parameters, source and the key of everything a kernel depends on."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import minitriton.language as tl
from minitriton.errors import MinitritonError
from minitriton.frontend.function import JITCallable, normalize_annotation
from minitriton.frontend.functions import mangled_name
from minitriton.language.values import tensor

HEADER = "import minitriton as triton\nimport minitriton.language as tl\n"
_modules = iter(range(1000))


def module_of(tmp_path: Path, text: str) -> Any:
    """A module with this text, from a file of its own."""
    path = tmp_path / f"kernels_{next(_modules)}.py"
    path.write_text(HEADER + text)
    module = ModuleType(path.stem)
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), module.__dict__)
    return module


KERNEL = """
N = tl.constexpr({n})

@triton.jit
def helper(x):
    return x + {helper}

@triton.jit
def kernel(ptr):
    {comment}
    tl.store(ptr, helper(N))
"""


def key(tmp_path: Path, n: int = 1, helper: int = 2, comment: str = "pass") -> str:
    return module_of(tmp_path, KERNEL.format(n=n, helper=helper, comment=comment)).kernel.cache_key


def test_key_is_the_same_for_the_same_source(tmp_path: Path) -> None:
    assert key(tmp_path) == key(tmp_path)


@pytest.mark.parametrize("change", [{"n": 5}, {"helper": 5}, {"comment": "tl.debug_barrier()"}])
def test_key_depends_on_source_called_functions_and_constants(tmp_path: Path, change: dict[str, Any]) -> None:
    assert key(tmp_path, **change) != key(tmp_path)


HIDDEN = """
N = tl.constexpr(100)

def plain(): pass

@triton.jit
def helper(): return 100

def make(n, plain, helper):
    N = tl.constexpr(n)

    @triton.jit
    def kernel(ptr):
        tl.store(ptr, N + plain() + helper())

    return kernel

@triton.jit
def one(): return 1

@triton.jit
def two(): return 2
"""


def test_a_variable_of_an_enclosing_function_hides_a_global_of_its_name(tmp_path: Path) -> None:
    module = module_of(tmp_path, HIDDEN)
    made = [(3, module.one, module.one), (5, module.one, module.one), (3, module.two, module.one), (3, module.one, module.two)]  # fmt: skip
    assert len({module.make(*values).cache_key for values in made}) == len(made)


NAMED_LIKE_BUILTINS = """
{decorator}
def max(a, b):
    return a + {value}

range = tl.constexpr({value})

@triton.jit
def called(ptr):
    tl.store(ptr, max(1, 2))

@triton.jit
def read(ptr):
    tl.store(ptr, range)

@triton.jit
def after_a_comprehension(ptr):
    tl.store(ptr, [range for range in (1, 2)][0])
    tl.store(ptr, range)
"""


@pytest.mark.parametrize("decorator", ["@triton.jit", "@triton.constexpr_function", ""])
@pytest.mark.parametrize("kernel", ["called", "read", "after_a_comprehension"])
def test_what_a_program_names_like_pythons_functions_is_part_of_the_key(
    kernel: str, decorator: str, tmp_path: Path
) -> None:
    texts = [NAMED_LIKE_BUILTINS.format(decorator=decorator, value=value) for value in (3, 5)]
    one, other = (getattr(module_of(tmp_path, text), kernel).cache_key for text in texts)
    assert one != other
    own = "from builtins import max, range\n" + texts[0][texts[0].index("@triton.jit\ndef called") :]
    assert module_of(tmp_path, own).called.cache_key


def test_globals_read_by_a_kernel_and_its_callees_are_recorded(tmp_path: Path) -> None:
    module = module_of(tmp_path, KERNEL.format(n=1, helper=2, comment="pass"))
    assert module.kernel.cache_key
    assert [name for name, _ in module.kernel.used_global_vals] == ["N"]


def test_functions_that_call_each_other_have_keys(tmp_path: Path) -> None:
    module = module_of(tmp_path, "@triton.jit\ndef f(x):\n    g(x)\n@triton.jit\ndef g(x):\n    f(x)\n")
    assert module.f.cache_key != module.g.cache_key


def test_calling_plain_python_is_refused(tmp_path: Path) -> None:
    module = module_of(tmp_path, "def plain(x): return x\n@triton.jit\ndef f(x):\n    plain(x)\n")
    with pytest.raises(RuntimeError, match="Unsupported function referenced"):
        _ = module.f.cache_key


def test_parameters_know_their_annotations(tmp_path: Path) -> None:
    text = '@triton.jit\ndef f(a, b: tl.constexpr, c: tl.int64, d: "*fp32" = None, e: tl.const = 1, g: "const *i8" = 2): pass\n'
    a, b, c, d, e, g = module_of(tmp_path, text).f.params
    assert (a.annotation, a.is_constexpr, a.has_default) == ("", False, False)
    assert b.is_constexpr and not b.is_const
    assert (c.annotation, c.annotation_type) == ("i64", "i64")
    assert (d.annotation, d.default) == ("*fp32", None)
    assert e.is_const
    assert (g.annotation, g.is_const) == ("*ki8", True)


@pytest.mark.parametrize(
    ("annotation", "name"),
    [(tl.float16, "fp16"), ("tl.uint8", "u8"), (int, "i32"), (bool, "u1"), (tl.pointer_type(tl.int32), "*i32"), (float, "fp32")],
)  # fmt: skip
def test_annotations_have_short_names(annotation: Any, name: str) -> None:
    assert normalize_annotation(annotation) == name


def test_source_leaves_out_decorators_and_keeps_line_numbers(tmp_path: Path) -> None:
    module = module_of(tmp_path, "if True:\n    @triton.jit\n    # why\n    def f(x):\n        pass\n")
    assert module.f.src == "def f(x):\n    pass\n"
    assert module.f.begin_line == 6


def test_functions_without_a_file_are_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): pass", namespace)
    with pytest.raises(MinitritonError, match="defined in a Python file"):
        JITCallable(namespace["f"])


def test_lambdas_are_refused() -> None:
    with pytest.raises(MinitritonError, match="written with `def`"):
        JITCallable(lambda x: x)


def test_names_of_called_functions_say_types_and_constants(tmp_path: Path) -> None:
    function = module_of(tmp_path, "@triton.jit\ndef f(x, y, z=None): pass\n").f
    x = tensor(None, tl.block_type(tl.float32, [8]))
    name = mangled_name(function, [x, tl.constexpr(1.5), tl.tuple([tensor(None, tl.int32), tl.constexpr("a")])])
    assert name.endswith(".f__fp32S8S_i32__(1,)cconstexpr_1_d_5__(2, 1)cconstexpr_a_")
