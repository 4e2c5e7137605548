"""Libraries of Triton kernels at the sizes of language models, unchanged, with minitriton and with Triton, on one GPU.

    python benchmarks/programs.py FOLDER [--only REGEX] [--rounds N] [--json FILE] [--seconds S] [--all-configurations]

FOLDER has what may be imported, as folders: `liger_kernel`, `flag_gems`, `fla`, `unsloth` (their `kernels` without the package's own start),
`helion_examples` (Helion's `examples`); torch has Inductor. A case calls a function of the library as a user does; `both`: forward and backward. Each compiler runs in a process of its own (`two_processes.py`). Autotuned kernels take
their configuration in the middle, so that both compilers compile the same one; `--all-configurations` lets them choose, which takes long.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.machinery
import math
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from two_processes import compare, work

Make = Callable[[], Callable[[], Any]]
CASES: dict[str, Make] = {}
HIDDEN, WIDE, VOCABULARY = 4096, 14336, 128256
"""Of Llama 3 8B."""


def case(name: str) -> Callable[[Make], Make]:
    def keep(make: Make) -> Make:
        CASES[name] = make
        return make

    return keep


def random(*shape: int, grad: bool = True, dtype: str = "bfloat16", scale: float = 1.0) -> Any:
    import torch

    x = torch.randn(shape, device="cuda", dtype=torch.float32) * scale
    return x.to(getattr(torch, dtype)).requires_grad_(grad)


def below(limit: int, *shape: int) -> Any:
    import torch

    return torch.randint(0, limit, shape, device="cuda")


def both(run: Callable[[], Any]) -> Callable[[], Any]:
    """Forward and backward of what `run` gives, by a gradient of ones."""
    import torch

    first = run()
    outputs = [each for each in (first if isinstance(first, tuple | list) else (first,)) if torch.is_tensor(each)]
    kept = [i for i, each in enumerate(outputs) if each.requires_grad]
    gradients = [torch.ones_like(outputs[i]) for i in kept]

    def call() -> Any:
        found = run()
        found = [each for each in (found if isinstance(found, tuple | list) else (found,)) if torch.is_tensor(each)]
        torch.autograd.backward([found[i] for i in kept], gradients)
        return found

    return call


def bare(name: str) -> None:
    """A package whose modules can be imported although its own start is not run."""
    spec = importlib.machinery.PathFinder.find_spec(name)
    assert spec is not None and spec.submodule_search_locations is not None, name
    module = types.ModuleType(name)
    module.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = module


# Liger


def liger(module: str, function: str, make: Callable[[], tuple[Any, ...]], name: str = "") -> None:
    def call() -> Callable[[], Any]:
        apply = getattr(importlib.import_module(f"liger_kernel.ops.{module}"), function).apply
        arguments = make()
        return both(lambda: apply(*arguments))

    CASES[f"liger {name or module}"] = call


def _probabilities(rows: int) -> Any:
    return random(rows, VOCABULARY, dtype="float32", grad=False).log_softmax(-1)


liger("rms_norm", "LigerRMSNormFunction", lambda: (random(8192, HIDDEN), random(HIDDEN), 1e-5, 0.0, "llama", False))
liger("layer_norm", "LigerLayerNormFunction", lambda: (random(8192, HIDDEN), random(HIDDEN), random(HIDDEN), 1e-5))
liger(
    "fused_add_rms_norm",
    "LigerFusedAddRMSNormFunction",
    lambda: (random(8192, HIDDEN), random(8192, HIDDEN), random(HIDDEN), 1e-5),
)
liger("swiglu", "LigerSiLUMulFunction", lambda: (random(8192, WIDE), random(8192, WIDE)))
liger("geglu", "LigerGELUMulFunction", lambda: (random(8192, WIDE), random(8192, WIDE)))
liger("relu_squared", "LigerReLUSquaredFunction", lambda: (random(8192, WIDE),))
liger(
    "dyt",
    "LigerDyTFunction",
    lambda: (random(8192, HIDDEN), random(1, dtype="float32"), random(HIDDEN), random(HIDDEN)),
)
liger("softmax", "LigerSoftmaxFunction", lambda: (random(4096, 8192),))
liger(
    "rope",
    "LigerRopeFunction",
    lambda: (
        random(4, 32, 2048, 128),
        random(4, 8, 2048, 128),
        random(1, 2048, 128, grad=False),
        random(1, 2048, 128, grad=False),
    ),
)
liger("cross_entropy", "LigerCrossEntropyFunction", lambda: (random(4096, VOCABULARY), below(VOCABULARY, 4096), None))
liger(
    "fused_linear_cross_entropy",
    "LigerFusedLinearCrossEntropyFunction",
    lambda: (random(4096, HIDDEN), random(VOCABULARY, HIDDEN, scale=0.02), below(VOCABULARY, 4096)),
)
liger("kl_div", "LigerKLDivLossFunction", lambda: (_probabilities(2048).requires_grad_(), _probabilities(2048).exp()))
liger("jsd", "LigerJSDFunction", lambda: (_probabilities(2048).requires_grad_(), _probabilities(2048)))
liger("tvd", "LigerTVDLossFunction", lambda: (_probabilities(2048).exp().requires_grad_(), _probabilities(2048).exp()))
liger(
    "group_norm", "LigerGroupNormFunction", lambda: (random(16, 512, 64 * 64), random(512), random(512), 512, 32, 1e-5)
)


# FlagGems


def gems(name: str, run: Callable[[Any], Callable[[], Any]]) -> None:
    @case(f"gems {name}")
    def call() -> Callable[[], Any]:
        library = importlib.import_module("flag_gems")
        entry = importlib.import_module("flag_gems.utils.libentry")
        entry.minor_version = min(entry.minor_version, 5)  # how Triton 3.6 is launched it does not know
        return run(library)


def plain(*shape: int, **more: Any) -> Any:
    return random(*shape, grad=False, **more)


def _given(name: str, *shapes: tuple[int, ...]) -> None:
    """A function of tensors alone."""

    def make(library: Any) -> Callable[[], Any]:
        function = getattr(library, name, None) or getattr(library.ops, name, None) or getattr(library.fused, name)
        return functools.partial(function, *(plain(*shape) for shape in shapes))

    gems(name, make)


_given("silu", (8192, WIDE))
_given("gelu", (8192, WIDE))
_given("silu_and_mul", (8192, WIDE), (8192, WIDE))
_given("gelu_and_mul", (8192, WIDE), (8192, WIDE))
_given("add", (8192, WIDE), (8192, WIDE))
_given("mul", (8192, WIDE), (8192, 1))
_given("exp", (8192, WIDE))
_given("rsqrt", (8192, WIDE))
_given("mv", (8192, HIDDEN), (HIDDEN,))
gems("softmax", lambda g: functools.partial(g.ops.softmax, plain(8192, 8192), -1))
gems("softmax of columns", lambda g: functools.partial(g.ops.softmax, plain(8192, 8192), 0))
gems("log_softmax", lambda g: functools.partial(g.ops.log_softmax, plain(4096, 32000), -1))
gems(
    "layer_norm",
    lambda g: functools.partial(g.ops.layer_norm, plain(8192, HIDDEN), [HIDDEN], plain(HIDDEN), plain(HIDDEN)),
)
gems("rms_norm", lambda g: functools.partial(g.ops.rms_norm, plain(8192, HIDDEN), [HIDDEN], plain(HIDDEN)))
gems(
    "skip_layer_norm",
    lambda g: functools.partial(
        g.fused.skip_layer_norm, plain(8192, HIDDEN), plain(8192, HIDDEN), [HIDDEN], plain(HIDDEN), plain(HIDDEN)
    ),
)
gems("cumsum", lambda g: functools.partial(g.ops.cumsum, plain(4096, 8192, dtype="float32"), 1))
gems("argmax", lambda g: functools.partial(g.ops.argmax, plain(4096, 32000), 1))
gems("topk", lambda g: functools.partial(g.ops.topk, plain(1024, 4096, dtype="float32"), 8))
gems("sort", lambda g: functools.partial(g.ops.sort, plain(1024, 4096, dtype="float32")))
gems("var_mean", lambda g: functools.partial(g.ops.var_mean, plain(8192, HIDDEN), [1]))
gems("vector_norm", lambda g: functools.partial(g.ops.vector_norm, plain(8192, HIDDEN), 2, [1]))
gems("embedding", lambda g: functools.partial(g.ops.embedding, plain(32000, HIDDEN), below(32000, 8192)))
gems("index_select", lambda g: functools.partial(g.ops.index_select, plain(32000, HIDDEN), 0, below(32000, 8192)))
gems("sum", lambda g: functools.partial(g.ops.sum_dim, plain(8192, HIDDEN), [1]))
gems("mm 4096", lambda g: functools.partial(g.ops.mm, plain(4096, 4096), plain(4096, 4096)))
gems(
    "attention causal",
    lambda g: functools.partial(
        g.ops.scaled_dot_product_attention,
        plain(2, 32, 4096, 128),
        plain(2, 32, 4096, 128),
        plain(2, 32, 4096, 128),
        is_causal=True,
    ),
)


# flash-linear-attention


def linear(path: str, arguments: Callable[[], dict[str, Any]], *, forward: bool = False) -> None:
    """`path`: module and function below `fla.ops`. `forward`: that alone, where the library refuses the other for Triton 3.6."""
    module, function = path.rsplit(".", 1)

    @case(f"fla {function}")
    def call() -> Callable[[], Any]:
        run = getattr(importlib.import_module(f"fla.ops.{module}"), function)
        given = arguments()
        return (lambda: run(**given)) if forward else both(lambda: run(**given))


def _heads(**more: Any) -> dict[str, Any]:
    return {name: random(4, 4096, 16, 128, scale=0.1) for name in "qkv"} | more


def _gate(*shape: int) -> Any:
    import torch

    return torch.nn.functional.logsigmoid(random(*shape, grad=False, dtype="float32")).detach().requires_grad_()


linear("linear_attn.chunk_linear_attn", lambda: _heads(normalize=False))
linear("retention.chunk_retention", _heads)
linear("simple_gla.chunk_simple_gla", lambda: _heads(g=_gate(4, 4096, 16)), forward=True)
linear("gla.chunk_gla", lambda: _heads(g=_gate(4, 4096, 16, 128)))
linear(
    "delta_rule.chunk_delta_rule",
    lambda: _heads(
        beta=random(4, 4096, 16, scale=0.1).sigmoid().detach().requires_grad_(), use_qk_l2norm_in_kernel=True
    ),
)
linear(
    "gated_delta_rule.chunk_gated_delta_rule",
    lambda: _heads(
        g=_gate(4, 4096, 16), beta=random(4, 4096, 16).sigmoid().detach().requires_grad_(), use_qk_l2norm_in_kernel=True
    ),
    forward=True,
)
linear(
    "kda.chunk_kda",
    lambda: _heads(
        g=_gate(4, 4096, 16, 128),
        beta=random(4, 4096, 16).sigmoid().detach().requires_grad_(),
        use_qk_l2norm_in_kernel=True,
    ),
)
linear("attn.parallel_attn", _heads)
linear("hgrn.fused_recurrent_hgrn", lambda: {"x": random(8, 2048, 4096), "g": _gate(8, 2048, 4096)})


# unsloth


def sloth(name: str, run: Callable[[Callable[[str], Any]], Callable[[], Any]]) -> None:
    @case(f"unsloth {name}")
    def call() -> Callable[[], Any]:
        _prepare_unsloth()
        return run(lambda module: importlib.import_module(f"unsloth.kernels.{module}"))


def _prepare_unsloth() -> None:
    """What its kernels import from its parts that need other packages: settings of a launch, and patches of models that are not needed here."""
    import triton
    import triton.language as tl
    from packaging.version import Version
    from triton.language.extra import libdevice

    bare("unsloth")
    kernels = types.ModuleType("unsloth.kernels")
    kernels.__path__ = [str(Path(sys.modules["unsloth"].__path__[0]) / "kernels")]
    utils = types.ModuleType("unsloth.kernels.utils")

    def calculate_settings(n: int) -> tuple[int, int]:
        block = triton.next_power_of_2(n)
        return block, 32 if block >= 32768 else 16 if block >= 8192 else 8 if block >= 2048 else 4

    vars(utils).update(
        calculate_settings=calculate_settings, MAX_FUSED_SIZE=65536, triton_tanh=libdevice.tanh, triton_cast=tl.cast,
        torch_gpu_device=lambda device: contextlib.nullcontext(), torch_device_stream=None, is_cdna=lambda: False,
    )  # fmt: skip
    nothing: dict[str, Any] = {
        "patch_loss_functions": None,
        "post_patch_loss_function": lambda f: f,
        "patch_layernorm": None,
        "Version": Version,
    }
    for name in (
        "unsloth_zoo",
        "unsloth_zoo.utils",
        "unsloth_zoo.loss_utils",
        "unsloth_zoo.patching_utils",
        "unsloth.device_type",
    ):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(nothing, DEVICE_COUNT=1)
    sys.modules |= {"unsloth.kernels": kernels, "unsloth.kernels.utils": utils}


def _rotated(load: Callable[[str], Any]) -> Callable[[], Any]:
    module = load("rope_embedding")
    q, k = random(4, 32, 2048, 128), random(4, 8, 2048, 128)
    cos, sin = plain(2048, 128), plain(2048, 128)
    return both(lambda: module.Fast_RoPE_Embedding_QK.apply(q, k, cos, sin, None))


def _glued(module: str, forward: str, backward: str) -> Callable[[Callable[[str], Any]], Callable[[], Any]]:
    def make(load: Callable[[str], Any]) -> Callable[[], Any]:
        found = load(module)
        gate, up = plain(4, 2048, WIDE), plain(4, 2048, WIDE)
        two = [plain(8192, WIDE) for _ in range(3)]

        def call() -> Any:
            out = getattr(found, forward)(gate, up)
            getattr(found, backward)(*two)
            return out

        return call

    return make


sloth(
    "cross_entropy",
    lambda load: (lambda f, x, y: both(lambda: f(x, y)))(
        load("cross_entropy_loss").fast_cross_entropy_loss, random(2, 2048, VOCABULARY), below(VOCABULARY, 2, 2048)
    ),
)
sloth(
    "rms_layernorm",
    lambda load: (lambda f, x, w: both(lambda: f(x, w, 1e-5, False)))(
        load("rms_layernorm").Fast_RMS_Layernorm.apply, random(4, 2048, HIDDEN), random(HIDDEN, grad=False)
    ),
)
sloth(
    "layernorm",
    lambda load: (lambda f, x, w: both(lambda: f(x, w, w, 1e-5)))(
        load("layernorm").Fast_Layernorm.apply, random(4, 2048, HIDDEN), random(HIDDEN, grad=False)
    ),
)
sloth("rope_embedding", _rotated)
sloth("swiglu", _glued("swiglu", "swiglu_fg_kernel", "swiglu_DWf_DW_dfg_kernel"))
sloth("geglu exact", _glued("geglu", "geglu_exact_forward_kernel", "geglu_exact_backward_kernel"))
sloth("geglu tanh", _glued("geglu", "geglu_approx_forward_kernel", "geglu_approx_backward_kernel"))


# Helion


def helion(name: str, make: Callable[[Callable[..., Any]], Callable[[], Any]]) -> None:
    """`make` gets a function that finds an example's kernel by file and name, with a configuration of ours or Helion's default."""

    @case(f"helion {name}")
    def call() -> Callable[[], Any]:
        os.environ["HELION_AUTOTUNE_EFFORT"] = "none"
        compiler = importlib.import_module("helion")

        def kernel(file: str, function: str = "", **config: Any) -> Any:
            found = getattr(importlib.import_module(f"helion_examples.{file}"), function or file)
            if not config:
                return found
            return compiler.kernel(found.fn, config=compiler.Config(**config), static_shapes=True)

        return make(kernel)


helion("softmax", lambda kernel: functools.partial(kernel("softmax"), plain(8192, 8192)))
helion("softmax_two_pass", lambda kernel: functools.partial(kernel("softmax", "softmax_two_pass"), plain(8192, 8192)))
helion("rms_norm", lambda kernel: both(functools.partial(kernel("rms_norm"), random(8192, HIDDEN), random(HIDDEN))))
helion(
    "layer_norm",
    lambda kernel: both(
        functools.partial(kernel("layer_norm"), random(8192, HIDDEN), [HIDDEN], random(HIDDEN), random(HIDDEN))
    ),
)
helion(
    "cross_entropy",
    lambda kernel: functools.partial(kernel("cross_entropy"), plain(4096, VOCABULARY), below(VOCABULARY, 4096)),
)
helion("swiglu", lambda kernel: both(functools.partial(kernel("swiglu"), random(8192, WIDE), random(8192, WIDE))))
helion(
    "welford", lambda kernel: functools.partial(kernel("welford"), plain(HIDDEN), plain(HIDDEN), plain(8192, HIDDEN))
)
helion("sum", lambda kernel: functools.partial(kernel("sum", "sum_kernel"), plain(8192, HIDDEN)))
helion("embedding", lambda kernel: functools.partial(kernel("embedding"), below(32000, 8192), plain(32000, HIDDEN)))
helion(
    "matmul 4096",
    lambda kernel: functools.partial(
        kernel("matmul", block_sizes=[128, 128, 64], l2_groupings=[8], num_warps=8, num_stages=3),
        plain(4096, 4096), plain(4096, 4096),
    ),
)  # fmt: skip
helion(
    "attention",
    lambda kernel: functools.partial(
        kernel("attention", block_sizes=[1, 128, 64], num_warps=8, num_stages=3),
        *(plain(2, 32, 4096, 128) for _ in "qkv"),
    ),
)


# torch's Inductor


def inductor(name: str, make: Callable[[], Callable[[], Any]]) -> None:
    @case(f"inductor {name}")
    def call() -> Callable[[], Any]:
        import torch

        torch._dynamo.reset()
        torch._inductor.config.compile_threads = 1
        torch._inductor.config.fx_graph_cache = False
        return make()


def _compiled(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    import torch

    run = torch.compile(function)
    return both(lambda: run(*arguments))


def _rms_norm(x: Any, w: Any) -> Any:
    return (x.float() * (x.float().square().mean(-1, keepdim=True) + 1e-5).rsqrt()).to(x.dtype) * w


def _block(x: Any, w1: Any, w2: Any, wide: Any, up: Any, down: Any) -> Any:
    from torch.nn import functional

    batch, length, hidden = x.shape
    q, k, v = (functional.layer_norm(x, (hidden,)) @ w1).view(batch, length, 3, 16, hidden // 16).permute(2, 0, 3, 1, 4)
    x = x + functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape) @ w2
    y = _rms_norm(x, wide)
    return x + functional.gelu(y @ up) @ down


def _loss(x: Any, y: Any) -> Any:
    from torch.nn import functional

    return functional.cross_entropy(x.float(), y)


def _dropped(x: Any) -> Any:
    from torch.nn import functional

    return functional.dropout(x.softmax(-1), 0.1)


def _gated(a: Any, b: Any) -> Any:
    from torch.nn import functional

    return functional.silu(a) * b


def _flexible() -> Callable[[], Any]:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 4096, 4096, device="cuda")
    run = torch.compile(flex_attention)
    q, k, v = (random(2, 16, 4096, 128) for _ in range(3))
    return both(lambda: run(q, k, v, block_mask=mask))


inductor("rms_norm", lambda: _compiled(_rms_norm, random(8192, HIDDEN), random(HIDDEN)))
inductor("cross_entropy", lambda: _compiled(_loss, random(4096, VOCABULARY), below(VOCABULARY, 4096)))
inductor("softmax dropout", lambda: _compiled(_dropped, random(4096, 8192)))
inductor("swiglu", lambda: _compiled(_gated, random(8192, WIDE), random(8192, WIDE)))
inductor(
    "block",
    lambda: _compiled(
        _block,
        random(8, 1024, 2048),
        random(2048, 6144, scale=0.02),
        random(2048, 2048, scale=0.02),
        random(2048),
        random(2048, 8192, scale=0.02),
        random(8192, 2048, scale=0.02),
    ),
)
inductor("flex_attention causal", _flexible)


def _one_configuration() -> None:
    """Each autotuner takes the configuration in the middle (of a library's own subclasses too)."""
    from triton.runtime.autotuner import Autotuner

    make = Autotuner.__init__

    def of_one(self: Any, fn: Any, arg_names: Any, configs: Any, *arguments: Any, **named: Any) -> None:
        configs = list(configs)
        middle = len(configs) // 2
        make(self, fn, arg_names, configs[middle : middle + 1], *arguments[:5], **{**named, "prune_configs_by": None})

    Autotuner.__init__ = of_one


def call_of(name: str) -> Callable[[], Any]:
    import torch

    torch.manual_seed(0)
    torch.cuda.empty_cache()
    return CASES[name]()


def names(pattern: str) -> Iterator[str]:
    return filter(re.compile(pattern).search, CASES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="a regular expression of cases")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begins no case after these")
    parser.add_argument("--all-configurations", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    more = ["--all-configurations"] if given.all_configurations else []
    if given.worker:
        if not given.all_configurations:
            _one_configuration()
        return work(call_of)
    compare(
        names(given.only),
        __file__,
        [given.folder, "--worker", *more],
        [given.folder],
        given.rounds,
        given.json,
        given.seconds,
    )


if __name__ == "__main__":
    main()
