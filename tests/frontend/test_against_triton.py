"""Every feature of the language compiles to the TTIR that Triton makes of it, up to Triton's own clean-up passes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minitriton_kernels.cases import CASES, KERNELS, Case

pytest.importorskip("triton")
oracle = pytest.importorskip("oracle")

pytestmark = pytest.mark.oracle

HERE = Path(__file__).parent
PAIR = oracle.load_twice(HERE / "language_kernels.py")
LANGUAGE = [(kernel, signature) for kernel, signatures in PAIR[0].KERNELS.items() for signature in signatures]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kernel", "signature"), LANGUAGE, ids=[f"{k}-{s}".replace(" ", "") for k, s in LANGUAGE])
def test_language_feature_compiles_as_in_triton(kernel: str, signature: str) -> None:
    ours, theirs = oracle.both(PAIR, kernel, signature)
    assert ours == theirs


def _signature(case: Case) -> str:
    names = {"float32": "*fp32:16", "int32": "*i32:16"}
    items = []
    for value in case.inputs(np.random.default_rng(0)):
        if isinstance(value, np.ndarray):
            items.append(names[str(value.dtype)])
        else:
            items.append("fp32" if isinstance(value, float) else "i32")
    return ", ".join([*items, *(f"{name}={value}" for name, value in case.constexprs.items())])


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_example_compiles_as_in_triton(case: Case) -> None:
    pair = oracle.load_twice(KERNELS / f"{case.file}.py")
    ours, theirs = oracle.both(pair, case.kernel, _signature(case))
    assert ours == theirs


@pytest.mark.parametrize(("kernel", "run_time_steps"), [("integer_arithmetic", 0), ("for_loops", 1), ("debugging", 0)])
def test_debug_option_adds_the_same_assertions_and_one_for_each_run_time_step(kernel: str, run_time_steps: int) -> None:
    signature = PAIR[0].KERNELS[kernel][0]
    ours, theirs = oracle.both(PAIR, kernel, signature, debug=True)
    assert ours.count("tt.assert") - run_time_steps == theirs.count("tt.assert") > 0
    assert ours.count("the step of a loop must be positive") == run_time_steps


OPS_WITH_PLACES = ("tt.load", "tt.store", "tt.get_program_id", "tt.make_range", "tt.addptr", "arith.addf", "arith.cmpi")


def _places(text: str) -> list[tuple[str, str]]:
    """(op, line:column) of the ops of the kernel's own file, in order."""
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))

    def place(reference: str) -> str:
        seen = aliases.get(reference, reference)
        inner = re.search(r"\((#loc\d*)\)", seen)
        return place(inner[1]) if inner else ":".join(seen.split(":")[-2:])

    found = re.findall(r"(\w+\.\w+) .*loc\((#loc\d*)\)$", text, re.M)
    return [(op, place(reference)) for op, reference in found if op in OPS_WITH_PLACES]


@pytest.mark.parametrize(
    ("file", "kernel", "signature"),
    [
        ("vector_add", "vector_add", "*fp32, *fp32, *fp32, i32, BLOCK=128"),
        ("masked_gather", "masked_gather", "*fp32, *i32, *fp32, i32, i32, fp32, BLOCK=128"),
        ("transpose", "transpose", "*fp32, *fp32, i32, i32, ROWS=16, COLS=16"),
    ],
)
def test_ops_have_the_lines_and_columns_of_triton(file: str, kernel: str, signature: str) -> None:
    pair: tuple[ModuleType, ModuleType] = oracle.load_twice(KERNELS / f"{file}.py")
    ours: Any = oracle.own_ttir(getattr(pair[0], kernel), signature, locations=True)
    theirs: Any = oracle.wheel_ttir(getattr(pair[1], kernel), signature, locations=True)
    kept = {line for line in _places(theirs) if line[0] != "arith.cmpi" or line in _places(ours)}
    assert set(_places(ours)) == kept
