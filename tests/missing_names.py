"""`python missing_names.py`: what Triton's modules have and what programs use of it, that is not here, as JSON; in a process of its own, since
it imports every module.

{"surface": what `wheel_surface` lists, "missing": its entries that are not here, "unused": names of `names_in_use/names.txt` that are not here}

An entry is `module.name`, `module.Class.member`, or `module.function(parameters)` for a function here without parameters of these names.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "names_in_use")]

from resolve import exists
from wheel_surface import members_of

from minitriton import run_as_triton

_MEMBERS_OF_VALUES = {"tensor", "tensor_descriptor", "tensor_descriptor_base", "block_type", "dtype", "pointer_type", "slice_type"}  # fmt: skip
"""Classes of what exists in kernels only: their methods are looked up by the frontend (`language.values.member`)."""


@functools.cache
def found() -> dict[str, Any]:
    """What the script prints."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def names_in_use() -> dict[str, int]:
    """The names in use that Triton 3.6.0 has → how many repositories use each."""
    lines = [line.split() for line in (HERE / "names_in_use" / "names.txt").read_text().splitlines() if line[0] != "#"]
    return {name: int(repositories) for name, repositories, wheel in lines if wheel == "+"}


def entries_of(module: str, names: dict[str, Any]) -> list[str]:
    """A module's names and the members of its classes."""
    members = [f"{module}.{key}.{m}" for key, theirs in names.items() if isinstance(theirs, dict) for m in theirs]
    return [f"{module}.{key}" for key in names] + members


def missing_in_module(name: str, names: dict[str, Any]) -> list[str]:
    try:
        ours = importlib.import_module(name)
    except ImportError:
        return entries_of(name, names)
    missing: list[str] = []
    for key, theirs in names.items():
        if not hasattr(ours, key):
            missing += entries_of(name, {key: theirs})
            continue
        value = getattr(ours, key)
        if isinstance(theirs, dict):
            missing += [f"{name}.{key}.{member}" for member in theirs if not _has_member(key, value, member)]
        elif theirs and (absent := _missing_parameters(value, theirs)):
            missing.append(f"{name}.{key}({', '.join(absent)})")
    return missing


def _has_member(name: str, cls: Any, member: str) -> bool:
    if name in _MEMBERS_OF_VALUES or hasattr(cls, member):
        return True
    return any(member in _members(base) for base in getattr(cls, "__mro__", ()) if base is not object)


_members = functools.cache(members_of)


def _missing_parameters(value: Any, theirs: list[str]) -> list[str]:
    try:
        parameters = inspect.signature(getattr(value, "fn", value)).parameters
    except (TypeError, ValueError):
        return []
    kinds = {p.kind for p in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds or inspect.Parameter.VAR_POSITIONAL in kinds:
        return []
    return [p for p in theirs if p not in parameters and not p.startswith("_")]


def main() -> None:
    asked = subprocess.Popen([sys.executable, HERE / "wheel_surface.py"], stdout=subprocess.PIPE, text=True)
    run_as_triton.install()
    unused = [name for name in names_in_use() if not exists(name)]
    surface: dict[str, dict[str, Any]] = json.loads(asked.communicate()[0].splitlines()[-1])
    missing = [entry for name, names in surface.items() for entry in missing_in_module(name, names)]
    print(json.dumps({"surface": surface, "missing": missing, "unused": unused}))


if __name__ == "__main__":
    main()
