"""A contextual bandit that learns which passes are worth trying on kernels that it has not seen: python examples/learned_pass_orders.py [KERNEL ...]

An arm is a pass, run first or right after the default passes of TTIR; the rest is the default pipeline's. On every other kernel of the corpus (or of those named) the
bandit pulls each allowed arm once. On the others it pulls the three that gained most on kernels like them, by what the environment shows of a program: ops by kind, and
properties. Next to it is an agent that keeps to the environment's mask and draws at random, up to 90 passes an episode. It needs pip install 'minitriton[lab]' and takes some
minutes; figures are in docs/lab.md.
"""

import sys

import numpy as np

from minitriton import lab
from minitriton.lab import corpus
from minitriton.lab.sweeping.environment import FINISH, FIRST_PASS, NEXT_LEVEL

TRIES = 3
MOST = 0.1
"""The greatest gain that counts, so that one kernel does not outweigh many."""
NEAR, EVERYWHERE = 20.0, 0.2
"""Squared distance of kernels that are alike; the weight of what an arm gained on average."""

Arm = tuple[bool, int]


class Agent:
    def __init__(self, env: lab.PassOrderEnvironment) -> None:
        self.env, self.rng = env, np.random.default_rng(0)
        self.arms: list[Arm] = [(later, FIRST_PASS + n) for later in (False, True) for n in range(len(env.passes))]
        self.seen: list[np.ndarray] = []
        self.gains: list[np.ndarray] = []

    def begin(self, kernel: str, later: bool) -> tuple[np.ndarray, np.ndarray]:
        """Where an arm is pulled: at first, or after the default passes of TTIR. What is seen and allowed there."""
        seen, info = self.env.reset(options={"kernel": kernel})
        if later:
            default = self.env.default_actions()
            for action in default[: default.index(NEXT_LEVEL) + 1]:
                seen, _, _, _, info = self.env.step(action)
        return seen[:-2], np.asarray(info["action_mask"])

    def allowed(self, kernel: str) -> list[int]:
        masks = [self.begin(kernel, later)[1] for later in (False, True)]
        return [n for n, (later, action) in enumerate(self.arms) if masks[later][action]]

    def pull(self, kernel: str, arm: int) -> float:
        """The reward of an episode with one pass of the agent's own. A loss counts as nothing: the default pipeline is there to take."""
        later, action = self.arms[arm]
        self.begin(kernel, later)
        self.env.step(action)
        return max(float(self.env.step(FINISH)[1]), 0.0)

    def explore(self, kernel: str) -> None:
        gains = np.zeros(len(self.arms))
        for arm in self.allowed(kernel):
            gains[arm] = min(self.pull(kernel, arm), MOST)
        self.seen.append(self.begin(kernel, False)[0])
        self.gains.append(gains)

    def choose(self, kernel: str) -> list[int]:
        seen, gains = np.array(self.seen), np.array(self.gains)
        distances = ((self.begin(kernel, False)[0] - seen) / (seen.std(0) + 1e-6)) ** 2
        weights = np.exp(-distances.sum(1) / NEAR)
        scores = weights @ gains / (weights.sum() + 1e-9) + EVERYWHERE * gains.mean(0)
        return sorted(self.allowed(kernel), key=lambda arm: -scores[arm])[:TRIES]

    def wander(self, kernel: str) -> float:
        """The reward of an episode of allowed actions, drawn at random."""
        _, info = self.env.reset(options={"kernel": kernel})
        reward, over, cut = 0.0, False, False
        while not (over or cut):
            may = np.flatnonzero(info["action_mask"])
            _, reward, over, cut, info = self.env.step(int(self.rng.choice(may[may != FINISH])))
        return float(reward)


kernels = sys.argv[1:] or corpus.names()
agent = Agent(lab.PassOrderEnvironment(kernels, "instructions", foreign=True))
for kernel in kernels[::2]:
    agent.explore(kernel)
unseen = kernels[1::2]
found = np.array([max(agent.pull(kernel, arm) for arm in agent.choose(kernel)) for kernel in unseen])
walks = np.array([[agent.wander(kernel) for _ in range(TRIES)] for kernel in unseen])
best = walks.max(1).clip(0)
print(f"{len(unseen)} kernels that it has not seen; logarithm of the gain in instructions over the default pipeline:")
print(f"  at random, an episode      {walks.mean():+.4f}, right programs {np.mean(walks > -2):.0%}")
print(f"  at random, best of {TRIES}       {best.mean():+.4f}, {np.sum(best > 0)} kernels better")
print(f"  the bandit, best of {TRIES}      {found.mean():+.4f}, {np.sum(found > 0)} kernels better")
