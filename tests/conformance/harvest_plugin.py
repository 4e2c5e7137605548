"""pytest plugin that gathers the kernels which Triton's tests launch, without a GPU: a device is pretended on CPU torch.

    HARVEST_DIR=out HARVEST_SM=90 HARVEST_EACH=6 python -m pytest -p harvest_plugin $TRITON_SRC/python/test/unit/language/test_core.py

Needs Triton's wheel, torch (CPU), pytest, numpy and scipy; minitriton is not imported. Of each test function at most HARVEST_EACH
cases run, drawn with a fixed seed; with HARVEST_DOTS=1 of the tests whose kernels multiply matrices, else of all others. Nothing is compiled or launched, so that a test's own assertions fail and mean nothing.
What is left is one file a kernel in HARVEST_DIR (`kernel_source.py`), named `<test>-<n>-sm<sm>.py`, and `left_out-sm<sm>.txt`: the
kernels that cannot stand alone, each with the reason.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
from kernel_source import CannotWrite, kernel_file
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

SM = int(os.environ["HARVEST_SM"])
FOLDER = Path(os.environ["HARVEST_DIR"])
EACH = int(os.environ.get("HARVEST_EACH", "6"))
DOTS = os.environ.get("HARVEST_DOTS") == "1"

OTHER_TIERS = (
    "dot", "scaled_dot", "join_with_mma", "scan", "cumsum", "side_effectful_scan", "histogram", "gather", "inline_asm",
    "map_elementwise", "load_scope_sem_coop_grid", "tma_", "num_ctas",
)  # fmt: skip
"""Beginnings of the names of tests that need tensor cores, scans, inline assembly, descriptors or several CTAs."""

OF_DOTS = ("dot", "matmul", "mma", "gemm")
"""What the names of tests with products have in them."""

SHARED_MEMORY = {80: 166912, 86: 101376, 89: 101376, 90: 232448}


class _Utilities:
    def get_device_properties(self, device: int) -> dict[str, int]:
        sizes = {"max_shared_mem": SHARED_MEMORY[SM], "multiprocessor_count": 132, "max_num_regs": 65536}
        return {**sizes, "warpSize": 32, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1}


class PretendedDriver:
    """Answers what Triton's runtime asks of a driver, for a device that is not there."""

    utils = _Utilities()

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", SM, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_current_device(self) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return SM // 10, SM % 10

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_device_interface(self) -> Any:
        return torch.cuda


class OnCpu(TorchFunctionMode):
    """Sends every torch call that names a CUDA device to the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "device" in kwargs:
            kwargs["device"] = self._device(kwargs["device"])
        name = getattr(func, "__name__", "")
        if name in ("cuda", "pin_memory"):
            return args[0]
        if name == "to":
            args = tuple(self._device(a) for a in args)
        return func(*(() if name == "Generator" else args), **kwargs)

    @staticmethod
    def _device(value: Any) -> Any:
        return "cpu" if isinstance(value, (str, torch.device)) and str(value).startswith("cuda") else value


class _Properties:
    multi_processor_count = 132
    name = "pretended"
    major, minor = SM // 10, SM % 10
    total_memory = 80 << 30
    shared_memory_per_block_optin = SHARED_MEMORY[SM]


current_test = ""
seen: set[str] = set()
left_out: list[str] = []
counts: dict[str, int] = {}


def record(self: Any, key: Any, signature: Any, device: Any, constexprs: Any, options: Any, attrs: Any, warmup: bool):
    """Stands for `JITFunction._do_compile`: writes the kernel down and returns None, which ends the launch."""
    defaults = {f.name: f.default for f in fields(options)}
    wanted = {n: v for n, v in vars(options).items() if n in defaults and v != defaults[n] and n not in DERIVED}
    if options.num_ctas != 1:
        return
    try:
        text = kernel_file(self, signature, constexprs, attrs, wanted, SM)
    except (CannotWrite, SyntaxError) as error:
        left_out.append(f"{current_test}: {error}")
        return
    if DOTS and not re.search(r"\bdot(_scaled)?\(", text):
        return
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest in seen:
        return
    seen.add(digest)
    number = counts[current_test] = counts.get(current_test, 0) + 1
    (FOLDER / f"{current_test}-{number}-sm{SM}.py").write_text(text)


DERIVED = {"extern_libs", "arch", "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "backend_name"} | {
    "ptx_version", "max_num_imprecise_acc_default", "instrumentation_mode",
    "allowed_dot_input_precisions",
}  # fmt: skip
"""Options that the backend works out, or that both compilers take from the environment."""


def pytest_configure(config: pytest.Config) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pretended: Any = PretendedDriver()
    triton.runtime.driver.set_active(pretended)
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda device=None: (SM // 10, SM % 10)
    torch.cuda.get_device_properties = lambda device=None: _Properties()
    torch.cuda.get_device_name = lambda device=None: "pretended"
    torch.cuda.current_device = lambda: 0
    torch.cuda.synchronize = lambda *a, **k: None
    torch.cuda.empty_cache = lambda: None
    OnCpu().__enter__()
    JITFunction._do_compile = record  # type: ignore[method-assign]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps HARVEST_EACH cases of every test of tier 1."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        name = getattr(item, "originalname", item.name).removeprefix("test_")
        if any(word in name for word in OF_DOTS) if DOTS else not name.startswith(OTHER_TIERS):
            cases.setdefault(name, []).append(item)
    items[:] = [
        item
        for name, group in cases.items()
        for item in sorted(random.Random(name).sample(group, min(EACH, len(group))), key=group.index)
    ]


def pytest_runtest_call(item: pytest.Item) -> None:
    global current_test
    current_test = getattr(item, "originalname", item.name).removeprefix("test_")


def pytest_sessionfinish(session: pytest.Session) -> None:
    (FOLDER / f"left_out-sm{SM}.txt").write_text("".join(line + "\n" for line in left_out))
