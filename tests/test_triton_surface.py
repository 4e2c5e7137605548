"""Every name of Triton's modules, and every name that public programs use of it, is here, or `left_out_names` says why not.

`python tests/test_triton_surface.py` prints the counts: names in the wheel, here, and left out by reason.
"""

from __future__ import annotations

import collections
import importlib.util
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "names_in_use")]

from collect import names_of
from left_out_names import LEFT_OUT, matches, reason_for
from missing_names import entries_of, found, names_in_use

needs_wheel = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no Triton to compare with")


@needs_wheel
def test_every_name_of_triton_is_here_or_its_absence_has_a_reason() -> None:
    assert len(found()["surface"]) > 100
    assert sorted(entry for entry in found()["missing"] if reason_for(entry) is None) == []


@needs_wheel
def test_every_name_in_use_is_here_or_its_absence_has_a_reason() -> None:
    assert len(names_in_use()) > 500
    assert [name for name in found()["unused"] if reason_for(name) is None] == []


@needs_wheel
def test_what_is_said_to_be_left_out_is() -> None:
    names = {*found()["missing"], *found()["unused"]}
    stale = [p for patterns in LEFT_OUT.values() for p in patterns if not any(matches(name, p) for name in names)]
    assert stale == []


def test_what_most_repositories_use_is_among_the_names() -> None:
    most = max(names_in_use().values())
    used = {name for name, repositories in names_in_use().items() if repositories > most / 2}
    assert {"triton.jit", "triton.language.constexpr", "triton.language.load", "triton.language.store"} <= used


def test_names_are_read_from_imports_and_attributes() -> None:
    source = """
def lazily():
    from triton.runtime.jit import JITFunction as Kernel
    return Kernel.warmup
import triton.language as tl, triton.testing
triton.knobs = None
x = tl.math.exp(tl.load(triton.testing.do_bench))
"""
    language = {"triton.language", "triton.language.math", "triton.language.math.exp", "triton.language.load"}
    runtime = {"triton.runtime.jit.JITFunction", "triton.runtime.jit.JITFunction.warmup"}
    assert names_of(source) == language | runtime | {"triton.testing", "triton.testing.do_bench"}


def main() -> None:
    surface, missing = found()["surface"], set(found()["missing"])
    entries = [entry for name, names in surface.items() for entry in entries_of(name, names)]
    absent = {entry for entry in missing if not entry.endswith(")")}
    print(f"{len(surface)} modules of the wheel have {len(entries)} names; {len(entries) - len(absent)} are here")
    print(f"{len(missing) - len(absent)} functions here name a parameter otherwise")
    unused = found()["unused"]
    print(f"{len(names_in_use())} names of the wheel are in use; {len(names_in_use()) - len(unused)} are here")
    in_use = collections.Counter(reason_for(name) or "no reason" for name in unused)
    for reason, count in collections.Counter(reason_for(entry) or "no reason" for entry in absent).most_common():
        print(f"{count:5d} left out ({in_use.pop(reason, 0)} of those in use): {reason}")
    for reason, count in in_use.items():
        print(f"    0 left out ({count} of those in use): {reason}")


if __name__ == "__main__":
    main()
