"""The environment over pass orders: Gymnasium's own checker, contracts, and rewards."""

from __future__ import annotations

import warnings

import pytest

gymnasium = pytest.importorskip("gymnasium")

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.environment import NEXT_LEVEL, NOT_RIGHT, PassOrderEnvironment
from minitriton.lab.sweeping.space import is_fixed

KERNELS = ["running_product", "running_sums"]


@pytest.fixture(scope="module")
def env() -> PassOrderEnvironment:
    return PassOrderEnvironment(KERNELS, "instructions", render_mode="ansi")


def test_gymnasium_checks_it(env: PassOrderEnvironment) -> None:
    from gymnasium.utils.env_checker import check_env  # pyright: ignore[reportMissingImports]

    with warnings.catch_warnings():
        warnings.simplefilter("error", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*(not specified|different from the unwrapped|spec).*")
        check_env(env, skip_render_check=False)


def test_the_default_pipeline_is_worth_nothing_more(env: PassOrderEnvironment) -> None:
    env.reset(seed=1, options={"kernel": KERNELS[0]})
    reward, over = None, False
    for step in env._evaluate.task.pipeline().steps:
        action = NEXT_LEVEL if is_fixed(step) else env.action(step.name)
        _, reward, over, cut, info = env.step(action)
        assert not cut
    assert over
    assert reward == pytest.approx(0.0, abs=1e-9)
    assert info["record"].result == "right"


def test_what_a_contract_forbids_changes_nothing(env: PassOrderEnvironment) -> None:
    before, info = env.reset(seed=1)
    action = env.action("tritongpu-coalesce")
    assert info["action_mask"][action] == 0
    after, reward, over, _, _ = env.step(action)
    assert (env.render(), reward, over) == ("", 0.0, False)
    assert (before[:-2] == after[:-2]).all()


def test_going_on_without_what_is_needed_is_not_right(env: PassOrderEnvironment) -> None:
    env.reset(seed=2)
    over = cut = False
    while not (over or cut):
        _, reward, over, cut, info = env.step(NEXT_LEVEL)
    assert info["record"].result != "right"
    assert reward == NOT_RIGHT


def test_an_environment_without_kernels_says_so_and_one_needs_no_list() -> None:
    with pytest.raises(MinitritonError, match="no kernels"):
        lab.PassOrderEnvironment([])
    assert lab.PassOrderEnvironment("cube_sums").reset(seed=1)[1]["kernel"] == "cube_sums"
