"""A Python function as the compiler sees it: its source, parameters, file position, and a key of all it depends on.

@jit
def kernel(x_ptr, n, BLOCK: tl.constexpr): ...

kernel.src            "def kernel(x_ptr, ...): ..." without decorators and indentation
kernel.params[2]      KernelParam(name="BLOCK", is_constexpr=True)
kernel.cache_key      digest of the source, of called functions and of the constexpr globals used
"""

import ast
import contextlib
import hashlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import FunctionType
from typing import NamedTuple, TypeVar, cast

from minitriton.errors import MinitritonError, SourceLocation
from minitriton.frontend.dependencies import DependenciesFinder, PlainFunction
from minitriton.frontend.errors import CompilationError, LanguageTypeError, UnsupportedReference, location_of
from minitriton.host import locks
from minitriton.host.deep_stack import on_deep_stack
from minitriton.host.identity import loose_key_of
from minitriton.language.declare import ConstexprFunction, LibraryFunction
from minitriton.language.dtypes import constexpr_type, dtype, pointer_type

R = TypeVar("R", covariant=True)

_CANONICAL_NAMES = {
    **dict.fromkeys(("bool", "int1", "uint1", "i1", "u1"), "u1"),
    **{f"{sign}int{bits}": f"{short}{bits}" for sign, short in (("", "i"), ("u", "u")) for bits in (8, 16, 32, 64)},
    **{name: name for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "void")},
    **{name: name for name in ("fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16", "fp16", "bf16", "fp32", "fp64")},
    **{f"float8{suffix}": f"fp8{suffix}" for suffix in ("e4nv", "e5", "e4b15", "e4b8", "e5b16")},
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "int": "i32",
}
"""Short names of scalar types, by all their spellings in annotations."""

_UNFINISHED = "recursion:"

_SHORT_NAMES = frozenset(_CANONICAL_NAMES.values())


def normalize_annotation(annotation: object) -> str:
    """The short type name that a parameter's annotation means (`tl.int64` → `i64`, `"const *fp32"` → `*kfp32`)."""
    if isinstance(annotation, str):
        text = annotation.strip()
        if text.startswith("const "):
            return "*k" + normalize_annotation(text.removeprefix("const ")).removeprefix("*")
        if text.endswith("*"):
            return "*" + normalize_annotation(text[:-1])
        if text.startswith("*"):
            return "*" + normalize_annotation(text[1:])
        if text.startswith("tl."):
            return normalize_annotation(text.removeprefix("tl."))
    elif isinstance(annotation, pointer_type):
        return "*" + normalize_annotation(annotation.element_ty)
    elif isinstance(annotation, dtype):
        text = annotation.name
    elif isinstance(annotation, type):
        text = annotation.__name__
    else:
        text = str(annotation)
    return _CANONICAL_NAMES.get(text.replace("_t", ""), text)


class KernelParam:
    """A parameter of a compiled function."""

    def __init__(
        self, num: int, param: inspect.Parameter, do_not_specialize: bool, do_not_specialize_on_alignment: bool
    ) -> None:
        self.num = num
        self.name = param.name
        self.kind = param.kind
        self.default = param.default
        self.has_default = param.default is not inspect.Parameter.empty
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment
        given = param.annotation
        self.annotation: str = "" if given is inspect.Parameter.empty or not given else normalize_annotation(given)
        self.is_constexpr = "constexpr" in self.annotation
        self.is_const = not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))
        element = self.annotation.removeprefix("*k").removeprefix("*")
        self.annotation_type: str = self.annotation if element in _SHORT_NAMES else ""

    def __repr__(self) -> str:
        return f"KernelParam(name={self.name!r}, annotation={self.annotation!r})"


def full_name(fn: Callable[..., object]) -> str:
    """Module and qualified name, from which names in the IR are made."""
    return f"{fn.__module__}.{fn.__qualname__}"


class JITCallable:
    """A function that kernels may be, or may call. `minitriton.jit` makes the subclass that launches."""

    _must_use_result: bool | str = False

    def __init__(
        self,
        fn: Callable[..., object],
        *,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        noinline: bool | None = None,
    ) -> None:
        self.fn: FunctionType = cast(FunctionType, fn)
        self.signature = inspect.signature(fn)
        try:
            self.raw_src, self.starting_line_number = inspect.getsourcelines(fn)
        except (OSError, TypeError) as error:
            raise MinitritonError(
                "@jit functions should be defined in a Python file", help="put the kernel into a .py file"
            ) from error
        self.full_name = self._fn_name = full_name(fn)
        """Its module and qualified name. Triton's own name for it is `_fn_name`."""
        self._src = _without_decorators(self.raw_src)
        self.noinline = bool(noinline)
        unspecialized = _parameters_named(do_not_specialize, "do_not_specialize")
        unaligned = _parameters_named(do_not_specialize_on_alignment, "do_not_specialize_on_alignment")
        self.params = [
            KernelParam(i, p, i in unspecialized or p.name in unspecialized, i in unaligned or p.name in unaligned)
            for i, p in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [p.name for p in self.params]
        self.__doc__ = fn.__doc__
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__globals__ = self.fn.__globals__
        self.__module__ = fn.__module__
        self.used_global_vals: dict[tuple[str, int], tuple[object, Mapping[str, object]]] = {}
        """(name, id of its scope) → (value when the key was made, scope), for globals that are compiled in."""
        self.hash: str | None = None
        self._tree: ast.Module | None = None

    @property
    def src(self) -> str:
        return self._src

    @src.setter
    def src(self, value: str) -> None:
        raise AttributeError(
            "Cannot set attribute 'src' directly. Use '_unsafe_update_src()' and manually clear `.hash` of all callers instead."
        )

    def _unsafe_update_src(self, new_src: str) -> None:
        self.replace_source(new_src)

    def replace_source(self, new_src: str) -> None:
        """Replaces the source. Callers whose key was made before must have their `hash` set to None."""
        self.hash = None
        self._tree = None
        self._src = new_src

    def parse(self) -> ast.Module:
        """The syntax tree of `src`, parsed once. Line 1 is the line of the `def`."""
        if self._tree is None:
            self._tree = ast.parse(self._src)
        return self._tree

    @cached_property
    def file_name(self) -> str:
        return self.fn.__code__.co_filename

    @cached_property
    def begin_line(self) -> int:
        """The line of the `def` in the file (decorators stand above it)."""
        for index, line in enumerate(self.raw_src):
            if line.strip().startswith("def "):
                return self.starting_line_number + index
        return self.starting_line_number

    def get_capture_scope(self) -> dict[str, object]:
        """What names in the body mean: globals, and variables of enclosing functions."""
        if not self.fn.__code__.co_freevars:
            return self.__globals__
        return {**self.__globals__, **EnclosingVariables(self.fn)}

    @property
    def cache_key(self) -> str:
        """A digest of the source and of everything it depends on."""
        if self.hash is not None and not self.hash.startswith(_UNFINISHED):
            return self.hash
        location = SourceLocation(self.file_name, self.begin_line)
        return on_deep_stack(self._key_made, f"function {self.__name__!r}", location)

    def _key_made(self) -> str:
        with locks.FUNCTIONS:
            if self.hash is None:
                # A placeholder ends the recursion of functions that call each other.
                self.hash = f"{_UNFINISHED}{self.full_name}"
                try:
                    self.hash = self._digest()
                except BaseException:
                    self.hash = None
                    raise
            return self.hash

    def _digest(self) -> str:
        finder = DependenciesFinder(self.full_name, self.__globals__, EnclosingVariables(self.fn), self.src, described)
        try:
            finder.visit(self.parse())
        except PlainFunction as error:
            location = location_of(finder.node, self.file_name, self.begin_line) if finder.node is not None else None
            raise UnsupportedReference(
                self.src,
                finder.node,
                str(error),
                location=location,
                help="decorate it with @triton.jit to call it at run time, or @triton.constexpr_function at compile time",
            ) from None
        self.used_global_vals = dict(sorted(finder.used_global_vals.items()))
        constants = [(n, loose_key_of(v)) for (n, _), (v, _) in self.used_global_vals.items()]
        defaults = [(p.name, loose_key_of(p.default)) for p in self.params if p.has_default]
        text = f"{finder.digest}{self.starting_line_number}{constants}{defaults}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def type(self) -> constexpr_type:
        return constexpr_type(self)

    def repr(self, specialization: object) -> str:
        """The name in the IR of a kernel made of this function."""
        return self.full_name

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.fn.__qualname__})"


def _parameters_named(given: Iterable[int | str] | None, option: str) -> set[int | str]:
    """The names and numbers of parameters in a decorator's list. Raises `MinitritonError` for what is no list of them."""
    if given is None:
        return set()
    if not isinstance(given, str):
        with contextlib.suppress(TypeError):
            found: set[object] = set(given)
            named = {each for each in found if isinstance(each, (int, str))}
            if len(named) == len(found):
                return named
    raise MinitritonError(
        f"{option} must be a list of parameters, got {given!r}", help=f'for example {option}=["n"], or [1] by number'
    )


class EnclosingVariables(Mapping[str, object]):
    """The variables of enclosing functions that `fn` uses, with the values that they have now; those that have none yet are absent."""

    def __init__(self, fn: FunctionType) -> None:
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def __getitem__(self, name: str) -> object:
        try:
            return self._cells[name].cell_contents
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._cells if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _without_decorators(lines: list[str]) -> str:
    source = textwrap.dedent("".join(lines))
    start = re.search(r"^def\s+\w+\s*\(", source, re.MULTILINE)
    if start is None:
        raise MinitritonError(
            "@jit decorates functions written with `def`", help="lambdas and async functions cannot be kernels"
        )
    return source[start.start() :]


def compiled_function(function: object) -> JITCallable:
    """The `JITCallable` of a library function (made once), or the argument if it is one already. Raises for any other."""
    if isinstance(function, JITCallable):
        return function
    if not isinstance(function, LibraryFunction):
        raise LanguageTypeError(f"{function!r} is not a function of the language", "decorate it with @triton.jit")
    if not isinstance(function.compiled, JITCallable):
        with locks.FUNCTIONS:
            if not isinstance(function.compiled, JITCallable):
                function.compiled = JITCallable(function.fn)
    return function.compiled


def described(function: ConstexprFunction[object]) -> JITCallable:
    """The `JITCallable` of a compile-time function, which knows its source and what it uses."""
    if not isinstance(function.callable, JITCallable):
        function.callable = JITCallable(function.fn)
    return function.callable


class HashedConstexprFunction(ConstexprFunction[R]):
    """A compile-time function as programs have it: `src`, `cache_key`, `hash` and `used_global_vals` are those of kernels.

    The key of a kernel that calls it depends on its source and on what it uses, and like a kernel it may call only functions of the
    language.
    """

    @property
    def src(self) -> str:
        return described(self).src

    @property
    def cache_key(self) -> str:
        """Raises `UnsupportedReference` if the function names one that is none of the language."""
        return described(self).cache_key

    @property
    def used_global_vals(self) -> dict[tuple[str, int], tuple[object, Mapping[str, object]]]:
        return described(self).used_global_vals

    @property
    def hash(self) -> str | None:
        return described(self).hash

    @hash.setter
    def hash(self, value: str | None) -> None:
        described(self).hash = value

    def _unsafe_update_src(self, new_src: str) -> None:
        """Replaces the source that the key is made of (the function called stays). As for kernels, callers keep their key."""
        described(self).replace_source(new_src)


def constexpr_function(fn: Callable[..., R]) -> HashedConstexprFunction[R]:
    """Makes a Python function callable in kernels, at compile time, on compile-time values."""
    return HashedConstexprFunction(fn)


class SpecializationProxy(NamedTuple):
    """What the `repr` of a kernel is given to make its name of."""

    constants: Mapping[str, object]
    signature: Mapping[str, object]


def kernel_name(fn: JITCallable, signature: Mapping[str, object], constants: Mapping[tuple[int, ...], object]) -> str:
    """The name in the IR of a kernel with this specialization. Raises `CompilationError` for a `repr` that gives no identifier."""
    named = {fn.arg_names[path[0]]: value for path, value in constants.items() if len(path) == 1}
    name = fn.repr(SpecializationProxy(named, signature)).rpartition(".")[2]
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) is None:
        raise CompilationError(None, None, f"invalid function identifier: {name}")
    return name


Seen = Callable[[JITCallable, ast.AST, object], None]
"""Called with what an expression or a parameter of a function is while it is compiled: a type for a parameter that is given at run time."""
