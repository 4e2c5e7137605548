"""Runs in a process of its own, where `triton` is Triton's wheel: compiles what standard input says, and writes what came out.

In: JSON with `file` and `kernel` and the parts of an `ASTSource`, or `ir`, the path of a file; `target`, `options`, `out`. Out: the stages as
text and the cubin, as JSON in the file `out`; what each pass was given is dumped to the file MLIR_DUMP_PATH, as MLIR_ENABLE_DUMP has it.
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

_GLUON = "triton.experimental.gluon.language"
_LAYOUTS = {
    "ttgl": _GLUON,
    "mbarrier": f"{_GLUON}.nvidia.ampere.mbarrier",
    "blackwell": f"{_GLUON}.nvidia.blackwell",
}
"""The modules of layouts, by what a kernel writes before their names."""


def _value(found: Any) -> Any:
    if isinstance(found, list):
        return [_value(each) for each in cast("list[Any]", found)]
    if not isinstance(found, dict):
        return found
    found = cast("dict[str, Any]", found)
    if "layout" in found:
        return eval(found["layout"], {name: importlib.import_module(module) for name, module in _LAYOUTS.items()})
    return getattr(importlib.import_module("triton.language"), found["dtype"])


def _source(given: dict[str, Any]) -> Any:
    if "ir" in given:
        return given["ir"]
    path = Path(given["file"])
    if re.search(r"^import minitriton( as |$|\.language)", path.read_text("utf-8"), re.MULTILINE):
        for name in ("", ".language"):
            sys.modules[f"minitriton{name}"] = importlib.import_module(f"triton{name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    fn = getattr(module, given["kernel"])
    while not hasattr(fn, "arg_names") or type(fn).__name__ in ("Autotuner", "Heuristics"):
        fn = fn.fn
    constants = {tuple(path): _value(value) for path, value in given["constants"]}
    attrs = {tuple(path): value for path, value in given["attrs"]}
    if type(fn).__name__ == "GluonJITFunction":
        kind = importlib.import_module("triton.experimental.gluon._runtime").GluonASTSource
        return kind(fn, given["signature"], constants, attrs)
    return importlib.import_module("triton.compiler").ASTSource(
        fn=fn, signature=given["signature"], constexprs=constants, attrs=attrs
    )


def main() -> None:
    """Compiles once."""
    given = json.load(sys.stdin)
    triton, backends = importlib.import_module("triton"), importlib.import_module("triton.backends.compiler")
    target = backends.GPUTarget(*given["target"])
    kernel = triton.compile(_source(given), target=target, options=given["options"])
    stages = {name: text for name, text in kernel.asm.items() if isinstance(text, str)}
    cubin = base64.b64encode(kernel.asm.get("cubin", b"")).decode()
    found = {"version": triton.__version__, "stages": stages, "shared": kernel.metadata.shared, "cubin": cubin}
    Path(given["out"]).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
