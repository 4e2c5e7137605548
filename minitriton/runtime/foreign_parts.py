"""What a result depends on that is no part of minitriton: passes loaded from elsewhere, and libraries of device functions."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from minitriton.codegen.nvidia.device_library import library_digest
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.pipeline.request import Request


def foreign_parts(request: Request) -> list[str]:
    """Digests of them, for a kernel's cache key."""
    options = request.options
    passes: list[str] = []
    if options.pipeline is not None:
        passes.append(_foreign_passes(pipeline_for(request.target, options, request.switches)))
    return [*passes, *(library_digest(Path(path)) for _, path in options.extern_libs)]


def _foreign_passes(pipeline: Pipeline) -> str:
    """The source of every module outside of minitriton whose passes `pipeline` runs: another source, another result."""
    names = {type(step).__module__ for step in pipeline.steps}
    files = [getattr(sys.modules.get(n), "__file__", None) for n in sorted(names) if not n.startswith("minitriton.")]
    return "-".join(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files if file)
