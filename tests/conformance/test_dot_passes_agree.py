"""The passes that bring dots to tensor cores write what Triton's write, on the IR that Triton's pipeline brings to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from dot_kernels import CASES
from kernel_source import kernel_file
from pass_comparison import flag_of, judge_steps
from triton_steps import steps_of

pytestmark = pytest.mark.oracle

COMPARED = frozenset(
    {
        "tritongpu-F32DotTC",
        "tritongpu-accelerate-matmul",
        "tritongpu-remove-layout-conversions",
        "tritongpu-optimize-dot-operands",
        "triton-nvidia-optimize-descriptor-encoding",
        "tritongpu-reduce-data-duplication",
        "tritongpu-reorder-instructions",
        "triton-nvidia-gpu-fence-insertion",
    }
)


def written(name: str, arch: int, folder: Path) -> Path:
    """The case as a file that stands by itself."""
    kernel, types, warps, constants = CASES[name]
    kinds = iter(types.split())
    signature = {n: "constexpr" if n in constants else next(kinds) for n in kernel.arg_names}
    places = {n: i for i, n in enumerate(kernel.arg_names)}
    fixed: dict[Any, Any] = {(places[n],): v for n, v in constants.items()}
    fixed |= {(places[n],): None for n, kind in signature.items() if kind == "None"}
    signature = {n: "constexpr" if kind == "None" else kind for n, kind in signature.items()}
    attrs = {(places[n],): [["tt.divisibility", 16]] for n, kind in signature.items() if kind != "constexpr"}
    path = folder / f"dots-1-sm{arch}.py"
    path.write_text(kernel_file(kernel, signature, fixed, attrs, {"num_warps": warps}, arch))
    return path


@pytest.mark.sampled(6)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("name", CASES)
def test_a_pass_writes_what_tritons_writes(name: str, arch: int, tmp_path: Path) -> None:
    if arch == 80 and ("fp8e4nv" in CASES[name][1] or name == "descriptors"):
        pytest.skip("sm_80 has no fp8e4nv and no descriptors in shared memory")
    record = steps_of(written(name, arch, tmp_path))
    assert {flag_of(step) for step in record["steps"]} >= COMPARED
    record["steps"] = [step for step in record["steps"] if flag_of(step) in COMPARED]
    different = [v for v in judge_steps(record) if v.name in COMPARED and v.outcome != "equal"]
    assert not different, "\n".join(f"step {v.step}, {v.name}: {v.detail}" for v in different)
