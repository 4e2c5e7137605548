"""What a kernel needs in addition to its own text, in the source that `torch.compile` writes for it.

from triton.language import load        →    from minitriton.language.memory import load as load
N: tl.constexpr = tl.constexpr(3)       →    N: tl.constexpr = tl.constexpr(3)              (not `minitriton.language.values.constexpr`)

torch writes a copy of each kernel of the program's into a file of its own, with the functions that it calls and the constants that it
reads; of what a name without a module in front means it writes an import, if that is in a module whose name begins with `triton`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from minitriton.frontend.function import JITCallable
from minitriton.language.dtypes import dtype

_ANNOTATION = re.compile(r"^(\w+): minitriton\.[\w.]+ = ", re.MULTILINE)


def write_names(wrapper: Any) -> None:
    """Changes `torch._inductor.codegen.wrapper`."""
    name = "user_defined_triton_kernel_transitive_closure_source_code"
    write: Callable[..., str] | None = getattr(wrapper, name, None)
    if write is None:
        return

    def with_names(kernel: JITCallable, *args: object, **options: object) -> str:
        text = _ANNOTATION.sub(r"\1: tl.constexpr = ", write(kernel, *args, **options))
        imports = sorted(set(_imports(kernel, set())))
        return "\n".join([text.rstrip("\n"), *imports, ""])

    setattr(wrapper, name, with_names)


def _imports(kernel: JITCallable, seen: set[int]) -> Iterator[str]:
    """A line for each global of the kernel, and of the functions that it calls, that is one of the language's."""
    seen.add(id(kernel))
    scope = kernel.fn.__globals__
    for name in kernel.fn.__code__.co_names:
        value: Any = scope.get(name)
        if isinstance(value, JITCallable):
            if id(value) not in seen:
                yield from _imports(value, seen)
        elif isinstance(value, dtype):
            yield f"{name} = tl.dtype({value.name!r})"
        elif hasattr(value, "__name__") and (getattr(value, "__module__", None) or "").startswith(
            "minitriton.language"
        ):
            yield f"from {value.__module__} import {value.__name__} as {name}"
