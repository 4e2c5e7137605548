"""Pass ordering as a Gymnasium environment: an agent chooses one pass after another, and is rewarded for the program at the end.

    env = PassOrderEnvironment(["running_sums", "log_sum_exp"], objective="instructions")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action("canonicalize"))

Action: the next pass; `NEXT_LEVEL`, which takes the step to the next representation; `FINISH`, which takes the rest of the default pipeline and ends
the episode, as the last of `MOST_PASSES` actions does (then it is truncated). An action whose contract does not hold changes nothing;
`info["action_mask"]` says which do.
Observation: how many ops of each kind the program has (logarithms), which facts hold, and how far the levels have been gone through.
Reward: at the end the logarithm of the default pipeline's objective by that of the program made, 0 before; `NOT_RIGHT` for a program that is
not right. Built for learned pass orders as in CompilerGym (Cummins et al., CGO 2022).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects import math as math_ops
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.references import Reference, references_of
from minitriton.lab.sweeping.search import value_of
from minitriton.lab.sweeping.space import foreign_passes, is_fixed
from minitriton.lab.sweeping.states import State, StepFailure
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Property, Step
from minitriton.pipeline.pipeline_spec import make_step

try:
    import gymnasium  # pyright: ignore[reportMissingImports]
except ImportError:
    raise MinitritonError(
        "pass orders as an environment need Gymnasium", help="pip install 'minitriton[lab]'"
    ) from None

NEXT_LEVEL = 0
"""The action that goes on to the next representation."""
FINISH = 1
"""The action that takes the rest of the default pipeline: of this level what has not run, or holds no more, and all later ones."""
FIRST_PASS = 2

NOT_RIGHT = -2.0
MOST_PASSES = 90
"""Actions of an episode, after which the rest of the default pipeline is taken."""

OPS = tuple(
    op.name
    for op in (
        tt.LoadOp, tt.StoreOp, tt.DotOp, tt.ReduceOp, tt.ScanOp, tt.ExpandDimsOp, tt.BroadcastOp, tt.SplatOp, tt.AddPtrOp, tt.MakeRangeOp,
        tt.TransOp, tt.ReshapeOp, tt.GatherOp, tt.AtomicRMWOp, tt.GetProgramIdOp, tt.CallOp, ttg.ConvertLayoutOp, ttg.LocalAllocOp,
        ttg.LocalLoadOp, ttg.LocalStoreOp, ttg.AsyncCopyGlobalToLocalOp, ttg.AsyncWaitOp, ttg.LocalBarrierOp, ttng.WarpGroupDotOp,
        scf.ForOp, scf.IfOp, scf.WhileOp, arith.ConstantOp, arith.AddiOp, arith.MuliOp, arith.CmpiOp, arith.SelectOp, arith.AddfOp,
        arith.MulfOp, arith.DivfOp, math_ops.ExpOp, math_ops.Exp2Op, math_ops.LogOp, math_ops.SqrtOp,
    )
)  # fmt: skip
"""Ops that an observation counts one by one; all others together are its next number."""


class PassOrderEnvironment(gymnasium.Env[np.ndarray, int]):
    """One kernel an episode, drawn from `kernels`. `passes`: the names to choose from (default: those of the kernels' default pipelines, and
    every other that takes no options, with `foreign`). Raises `MinitritonError` for kernels that are not right as they are."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        kernels: str | Reference | Sequence[str | Reference],
        objective: str = "instructions",
        *,
        passes: Sequence[str] | None = None,
        foreign: bool = False,
        render_mode: str | None = None,
    ) -> None:
        found = references_of(kernels)
        if not found:
            raise MinitritonError(
                "no kernels to choose passes for", help="name some: a name of the corpus, @family, all"
            )
        self.render_mode = render_mode
        self.objective = objective
        self._evaluators = [Evaluator(one.task(), [objective]) for one in found]
        self._firsts: dict[int, Evaluation] = {}
        own = [s for e in self._evaluators for s in e.task.pipeline().steps if not is_fixed(s)]
        names = passes or [*dict.fromkeys(s.name for s in own), *(foreign_passes() if foreign else ())]
        self.passes = list(dict.fromkeys(names))
        self._given = {step.name: step for step in own}
        actions: Any = gymnasium.spaces.Discrete(FIRST_PASS + len(self.passes))
        self.action_space = actions
        size = len(OPS) + 1 + len(Property) + 2
        self.observation_space = gymnasium.spaces.Box(0.0, 20.0, (size,), np.float32)
        self._start(0)

    def action(self, name: str) -> int:
        """The number of the action that runs the pass `name`. Raises `ValueError` for one that is not chosen from."""
        return FIRST_PASS + self.passes.index(name)

    def default_actions(self) -> list[int]:
        """The actions that make the default pipeline of this episode's kernel."""
        steps = self._evaluate.task.pipeline().steps
        return [NEXT_LEVEL if is_fixed(step) else self.action(step.name) for step in steps]

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """A new episode; `options={"kernel": name}` names the kernel."""
        super().reset(seed=seed)
        names = [e.task.name for e in self._evaluators]
        wanted = (options or {}).get("kernel")
        self._start(names.index(str(wanted)) if wanted else int(self.np_random.integers(len(names))))
        return self._observation(), self._info()

    def _start(self, number: int) -> None:
        self._number = number
        self._evaluate = self._evaluators[number]
        states = self._evaluate.checker.states
        self._state: State = states.first
        self._steps: list[Step] = []
        self._level = 0
        """How many steps led to this representation."""
        self._fixed = [step for step in self._evaluate.task.pipeline().steps if is_fixed(step)]
        self._taken = 0
        self._record: Evaluation | None = None

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        """Runs a pass, or goes on to the next level; at the last, the program is evaluated."""
        self._taken += 1
        reward, over, truncated = 0.0, False, False
        if action == FINISH:
            self._finish()
            over = True
        elif self._is_allowed(int(action)):
            step = self._fixed[0] if action == NEXT_LEVEL else self._pass(int(action))
            self._advance(step)
            if action == NEXT_LEVEL:
                self._fixed.pop(0)
                self._level = len(self._steps)
        over = over or not self._fixed or self._record is not None
        if not over and self._taken >= MOST_PASSES:
            truncated = True
            self._finish()
        if over or truncated:
            reward = self._reward()
        return self._observation(), reward, over, truncated, self._info()

    def _finish(self) -> None:
        default, facts = self._evaluate.task.pipeline().steps, self._state.facts
        fixed = [number for number, step in enumerate(default) if is_fixed(step)]
        gone = len(fixed) - len(self._fixed)
        taken = {step.name for step in self._steps[self._level :]}
        for step in default[fixed[gone - 1] + 1 if gone else 0 :]:
            if is_fixed(step):
                taken.clear()
            elif step.name in taken and step.establishes <= facts:
                continue
            if step.can_run(facts):
                self._steps.append(step)
                facts = step.after(facts)

    def _advance(self, step: Step) -> None:
        self._steps.append(step)
        following = self._evaluate.checker.states.follow(self._state, step)
        if isinstance(following, StepFailure):
            name = self._evaluate.task.name
            self._record = Evaluation(
                name, str(Pipeline(tuple(self._steps))), Class.FAILED, step.name, str(following.error)
            )
        else:
            self._state = following

    def _pass(self, action: int) -> Step:
        name = self.passes[action - FIRST_PASS]
        return self._given.get(name) or make_step(name, {})

    def _is_allowed(self, action: int) -> bool:
        """Whether the contract of what `action` runs holds."""
        facts = self._state.facts
        if action == NEXT_LEVEL:
            return bool(self._fixed) and self._fixed[0].can_run(facts)
        if action == FINISH:
            return True
        return self._pass(action).can_run(facts)

    def _reward(self) -> float:
        if self._record is None:
            self._record = self._evaluate(Configuration(Pipeline(tuple(self._steps))))
        first = self._firsts.get(self._number)
        if first is None:
            first = self._firsts[self._number] = self._evaluate(Configuration(self._evaluate.task.pipeline()))
        before, after = value_of(first, self.objective), value_of(self._record, self.objective)
        if not math.isfinite(after):
            return NOT_RIGHT
        return math.log(max(before, 1e-9) / max(after, 1e-9))

    def _observation(self) -> np.ndarray:
        counts = dict.fromkeys((*OPS, ""), 0)
        module = self._evaluate.checker.states.value(self._state)
        if isinstance(module, ModuleOp):
            for op in module.walk():
                counts[op.name if op.name in counts else ""] += 1
        facts = [float(fact in self._state.facts) for fact in Property]
        gone = [self._taken / MOST_PASSES, float(len(self._fixed))]
        return np.array([*(math.log1p(n) for n in counts.values()), *facts, *gone], np.float32)

    def _info(self) -> dict[str, object]:
        allowed = [self._is_allowed(action) for action in range(FIRST_PASS + len(self.passes))]
        found: dict[str, object] = {"action_mask": np.array(allowed, np.int8), "kernel": self._evaluate.task.name}
        if self._record is not None:
            found["record"] = self._record
        return found

    def render(self) -> str:
        """The pipeline so far."""
        return str(Pipeline(tuple(self._steps)))
