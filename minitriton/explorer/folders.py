"""Kernels in a folder that Triton or Inductor left: a cache of Triton's, a dump, the output of torch.compile.

    kernels_in(Path("~/.triton/cache"))      [".../ab12/add.ttir", ".../cd34/softmax.ttir"]

Triton's cache has a folder a kernel, with a file a stage; Inductor keeps such a cache below its own folder. The earliest stage of each
is taken: from there all later ones follow, for the target and with the options that Triton noted with it.

    compiled_with(Path("ab12/add.ttir"))     (80, {"num_warps": 8, "num_stages": 3, ...})      from ab12/add.json
"""

from __future__ import annotations

from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import parse_json, read_regular

_STAGES = (".ttir", ".ttgir")
MOST = 8
"""Kernels that are opened together."""


def kernels_in(folder: Path) -> list[Path]:
    """A file for each kernel below `folder`, the newest first. Raises `MinitritonError` where there is none."""
    found: dict[tuple[Path, str], Path] = {}
    for suffix in reversed(_STAGES):
        for path in folder.rglob(f"*{suffix}"):
            found[path.parent, path.stem] = path
    if not found:
        raise MinitritonError(
            f"no .ttir and no .ttgir below {folder}",
            help="name a cache folder of Triton's (~/.triton/cache), a dump, or Inductor's output (/tmp/torchinductor_USER)",
        )
    return sorted(found.values(), key=lambda path: (-path.stat().st_mtime, str(path)))


_OPTIONS = (
    "num_warps",
    "num_ctas",
    "num_stages",
    "maxnreg",
    "enable_fp_fusion",
    "launch_cooperative_grid",
    "sanitize_overflow",
)


def compiled_with(path: Path) -> tuple[int | None, dict[str, int | bool]]:
    """The architecture and compile options that Triton noted for the kernel of a stage's file; None and nothing where it did not."""
    try:
        noted = parse_json(read_regular(path.with_suffix(".json")))
        target = noted["target"]
        if target["backend"] != "cuda":
            raise MinitritonError(
                f"{path} was compiled for {target['backend']} {target['arch']}",
                help="there are passes for NVIDIA's GPUs only",
            )
        return int(target["arch"]), {name: noted[name] for name in _OPTIONS if noted.get(name) is not None}
    except (OSError, ValueError, KeyError, TypeError):
        return None, {}
