"""The environment over pass orders: Gymnasium's own checker, contracts, and rewards."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.environment import FINISH, NEXT_LEVEL, NOT_RIGHT, PassOrderEnvironment

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
    for action in env.default_actions():
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


def test_the_rest_of_the_default_pipeline_is_taken_at_the_end_and_where_it_is_asked_for(
    env: PassOrderEnvironment,
) -> None:
    env.reset(seed=2)
    _, reward, over, cut, info = env.step(FINISH)
    assert (reward, over, cut, info["record"].result) == (pytest.approx(0.0, abs=1e-9), True, False, "right")
    assert env.render() == str(env._evaluate.task.pipeline())
    env.reset(seed=2)
    over = cut = False
    while not (over or cut):
        _, reward, over, cut, info = env.step(NEXT_LEVEL)
    assert cut and info["record"].result == "right"


def test_an_agent_that_keeps_to_the_mask_ends_with_a_right_program(env: PassOrderEnvironment) -> None:
    rng = np.random.default_rng(0)
    for episode in range(6):
        _, info = env.reset(seed=episode)
        reward, over, cut = 0.0, False, False
        while not (over or cut):
            may = np.flatnonzero(info["action_mask"])
            _, reward, over, cut, info = env.step(int(rng.choice(may[may != FINISH])))
        assert info["record"].result == "right" and reward > NOT_RIGHT


def test_an_environment_without_kernels_says_so_and_one_needs_no_list() -> None:
    with pytest.raises(MinitritonError, match="no kernels"):
        lab.PassOrderEnvironment([])
    assert lab.PassOrderEnvironment("cube_sums").reset(seed=1)[1]["kernel"] == "cube_sums"
