"""What the comparison with a GPU allows: each named kernel's tolerance covers approximations as bad as the PTX ISA permits,
and no exact kernel is excused."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import compiled
from parity_cases import ALL_CASES

from minitriton import emulator
from minitriton.emulator import translate as translation
from minitriton.emulator.arithmetic import floats as float_math

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import approximations
from agreement import TOLERANCES, approximate_instructions, assert_agree

FUNCTIONS = {
    "div.full.f32": "quotient32", "ex2.approx.f32": "exp2_32", "sqrt.approx.f32": "root32", "rsqrt.approx.f32": "rsqrt32",
}  # fmt: skip


def run(case: Any, kernel: Any) -> dict[int, np.ndarray]:
    arguments = case.inputs(np.random.default_rng(0))
    runtime = [a for a in arguments if not (isinstance(a, int) and a == 1)]
    module = emulator.parse(kernel.asm["ptx"])
    grid = (case.grid[0] * case.num_ctas, *case.grid[1:])
    emulator.run(module, case.kernel, grid, runtime, kernel.metadata.shared, check=False)
    return {p: arguments[p] for p in case.expected(*case.inputs(np.random.default_rng(0)))}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TOLERANCES)
def test_the_tolerance_covers_the_worst_that_the_isa_permits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(c for c in ALL_CASES if c.name == name)
    kernel = compiled(case, "minitriton")
    ptx = kernel.asm["ptx"]
    assert approximate_instructions(ptx) == set(TOLERANCES[name].instructions)
    exact = run(case, kernel)
    rng = np.random.default_rng(1)
    for opcode, function in FUNCTIONS.items():
        relative = approximations.BOUNDS[opcode].relative

        def worse(*operands: Any, plain: Any = getattr(float_math, function), relative: float = relative) -> Any:
            result = np.asarray(plain(*operands))
            return (result * (1 + relative * rng.choice([-1.0, 1.0], result.shape))).astype(np.float32)

        monkeypatch.setitem(translation.NAMES, function, worse)
    for position, moved in run(case, kernel).items():
        assert_agree(name, ptx, exact[position], moved, 0.0)


def test_a_kernel_that_no_tolerance_names_must_not_approximate() -> None:
    with pytest.raises(AssertionError, match="no tolerance names"):
        assert_agree("vector_add", "ex2.approx.ftz.f32 %r1, %r2;", np.zeros(1), np.zeros(1), 1.0)


def test_exact_kernels_agree_bit_for_bit() -> None:
    zero, other = np.zeros(1, np.float32), np.zeros(1, np.float32)
    assert_agree("vector_add", "add.f32 %r1, %r2, %r3;", zero, other, 1.0)
    with pytest.raises(AssertionError):
        assert_agree("vector_add", "add.f32 %r1, %r2, %r3;", zero, -other, 1.0)


def test_every_approximate_instruction_has_a_bound_and_a_section() -> None:
    assert all(b.section.startswith("9.7.") and (b.relative or b.absolute) for b in approximations.BOUNDS.values())
    assert approximations.bound_of("div.rn.ftz.f32") is None
