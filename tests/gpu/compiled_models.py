"""Models compiled by torch's Inductor, once with Triton and once with minitriton, in processes of their own.

    python tests/gpu/compiled_models.py [--jobs N] [CASE...]            a table of all cases; exit status 1 if one differs
    python tests/gpu/compiled_models.py --run CASE --out FILE           what a child does, as it is or under `minitriton.run_as_triton`

Each case is a module or function of float32 or bfloat16 with its inputs; outputs and the gradients of all inputs and parameters are kept.
Numbers are equal when they are the same bits, or when minitriton's are at most four times as far from the same model in float64, run
without a compiler, as Triton's are: gradients that are zero but for rounding (a bias before a normalisation) have no other measure.
"""

from __future__ import annotations

import argparse
import copy
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 240
TIMES_AS_FAR = 4.0


def _encoder(*, causal: bool) -> Callable[..., Any]:
    def build(torch: Any, dtype: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, 0.0, "gelu", batch_first=True, norm_first=causal)

        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.words = torch.nn.Embedding(500, 256)
                self.layer = layer
                self.last = torch.nn.Linear(256, 500)

            def forward(self, tokens: Any) -> Any:
                x = self.words(tokens)
                heads = [part.unflatten(-1, (4, 64)).transpose(1, 2) for part in self._projected(x)]
                scores = heads[0] @ heads[1].transpose(-1, -2) / 8.0
                if causal:
                    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril()
                    scores = scores.masked_fill(~seen, float("-inf"))
                mixed = (scores.softmax(-1) @ heads[2]).transpose(1, 2).flatten(-2)
                x = self.layer.norm1(x + self.layer.self_attn.out_proj(mixed))
                x = self.layer.norm2(x + self.layer.linear2(torch.nn.functional.gelu(self.layer.linear1(x))))
                return self.last(x)

            def _projected(self, x: Any) -> Any:
                attention = self.layer.self_attn
                return torch.nn.functional.linear(x, attention.in_proj_weight, attention.in_proj_bias).chunk(3, -1)

        return Model().to(dtype), (torch.randint(0, 500, (3, 70)),), {}

    return build


def _convolutions(torch: Any, dtype: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(24, 40, 3, stride=2),
        nn.GroupNorm(8, 40), nn.SiLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(360, 17),
    )  # fmt: skip
    return model.to(dtype), (torch.randn(5, 3, 33, 31, dtype=dtype),), {}


def _losses(torch: Any, dtype: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    def compute(x: Any, targets: Any) -> Any:
        values, places = torch.sort(x, dim=-1, stable=True)
        loss = torch.nn.functional.cross_entropy(x.float(), targets, label_smoothing=0.1)
        return loss, values, places, torch.cumsum(x, -1), torch.cumsum(values, 0), torch.logsumexp(x, -1), x.argmax(-1)

    return compute, (torch.randn(37, 300, dtype=dtype), torch.randint(0, 300, (37,))), {}


def _reductions(torch: Any, dtype: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    def compute(x: Any, y: Any) -> Any:
        variance, mean = torch.var_mean(x, -1)
        normed = torch.nn.functional.layer_norm(x, (x.shape[-1],))
        return (
            variance, mean, normed, x.softmax(0), x.amax((0, 1)), (x > 0).any(-1), y.sum(0), (x * y).sum((0, 2)), x.transpose(0, 1).contiguous() + 1,
            torch.where(y > 0, x.sigmoid(), y.tanh()), x.abs().clamp(min=0.1).log().mean(1), torch.cat([x, y], 1).exp().sum(-1), x[:, ::2, 1:].sqrt().nan_to_num(),
        )  # fmt: skip

    return compute, (torch.randn(9, 129, 67, dtype=dtype), torch.randn(9, 129, 67, dtype=dtype)), {}


def _products(torch: Any, dtype: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(192, 320), nn.ReLU(), nn.Linear(320, 256), nn.GELU(), nn.Linear(256, 64))
    return model.to(dtype), (torch.randn(300, 192, dtype=dtype),), {"mode": "max-autotune-no-cudagraphs"}


def _own_kernel(torch: Any, dtype: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    import kernel_for_models

    return (
        kernel_for_models.compute,
        (torch.randn(1000, 33, dtype=dtype), torch.randn(33, dtype=dtype)),
        {"gradients": False, "exact": kernel_for_models.exact},
    )


CASES: dict[str, tuple[Callable[..., Any], str]] = {
    f"{name}-{dtype}": (build, dtype)
    for name, build in {
        "bert": _encoder(causal=False), "gpt2": _encoder(causal=True), "convolutions": _convolutions, "losses": _losses,
        "reductions": _reductions, "max-autotune": _products, "own-kernel": _own_kernel,
    }.items()
    for dtype in ("float32", "bfloat16")
}  # fmt: skip


def run(name: str, out: Path, *, compiled: bool = True) -> None:
    """Writes the outputs and gradients of one case: as compiled here, and in float64 without a compiler."""
    import torch  # pyright: ignore[reportMissingImports]

    build, dtype = CASES[name]
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    function, inputs, options = build(torch, getattr(torch, dtype))
    gradients = options.pop("gradients", True)
    exact = options.pop("exact", function)
    if isinstance(function, torch.nn.Module):
        exact = copy.deepcopy(function).to(torch.float64)
    if isinstance(function, torch.nn.Module):
        function.to(device)
        exact.to(device)
    inputs = tuple(each.to(device) for each in inputs)
    doubles = tuple(each.double() if each.is_floating_point() else each for each in inputs)
    call = torch.compile(function, **options) if compiled else function
    found = {"compiled": _numbers(torch, call, function, inputs, gradients)}
    found["exact"] = _numbers(torch, exact, exact, doubles, gradients)
    torch.save(found, out)


def _numbers(torch: Any, call: Any, owner: Any, inputs: tuple[Any, ...], gradients: bool) -> list[Any]:
    inputs = tuple(x.detach().requires_grad_(gradients and x.is_floating_point()) for x in inputs)
    outputs = call(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    kept = list(outputs)
    if gradients:
        weights = [
            torch.linspace(-1, 1, o.numel(), device=o.device, dtype=o.dtype).reshape(o.shape)
            for o in outputs
            if o.requires_grad
        ]
        torch.autograd.backward([o for o in outputs if o.requires_grad], weights)
        kept += [x.grad for x in inputs if x.grad is not None]
        if isinstance(owner, torch.nn.Module):
            kept += [p.grad for p in owner.parameters() if p.grad is not None]
    return [each.detach().cpu() for each in kept]


def compare(name: str, folder: Path) -> tuple[str, bool]:
    """Runs a case under both; what came out, and whether it is well."""
    import torch  # pyright: ignore[reportMissingImports]

    found: dict[str, Any] = {}
    for compiler, prefix in (("triton", []), ("minitriton", ["-m", "minitriton.run_as_triton"])):
        out = folder / f"{name}.{compiler}.pt"
        caches = {
            f"{each}_CACHE_DIR": str(folder / f"{name}.{compiler}.{each}") for each in ("TRITON", "TORCHINDUCTOR")
        }
        paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, *prefix, __file__, "--run", name, "--out", str(out)]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **caches, "PYTHONPATH": paths},
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"{compiler}: not done after {LIMIT_SECONDS} s", compiler == "triton"
        if done.returncode:
            said = done.stderr.strip().splitlines()
            return f"{compiler} fails: {' / '.join(said[-3:])[-300:]}", compiler == "triton"
        found[compiler] = torch.load(out)
    ours, theirs = found["minitriton"]["compiled"], found["triton"]["compiled"]
    exact = found["triton"]["exact"]
    same, worst = 0, 0.0
    for mine, other, true in zip(ours, theirs, exact, strict=True):
        if torch.equal(mine, other) or bool(((mine == other) | (mine.isnan() & other.isnan())).all()):
            same += 1
            continue
        far = [(each.double() - true.double()).nan_to_num().abs().max().item() for each in (mine, other)]
        worst = max(worst, far[0] / far[1] if far[1] else float("inf"))
    return (
        f"{same} of {len(ours)} arrays the same bits, else {worst:.2f} times as far from float64",
        worst <= TIMES_AS_FAR,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--run", choices=CASES)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--eager", action="store_true", help="with --run: without a compiler, to try a case where there is no GPU"
    )
    options = parser.parse_args()
    if options.run:
        run(options.run, options.out, compiled=not options.eager)
        return 0
    well = True
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        names = options.cases or list(CASES)
        for name, (said, fine) in zip(names, pool.map(lambda name: compare(name, Path(folder)), names), strict=True):
            print(f"{name:24} {'ok' if fine else 'DIFFERS'}  {said}", flush=True)
            well &= fine
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
