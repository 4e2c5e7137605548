"""xDSL loaded by `load_xdsl` is xDSL: its dataclasses and ops say of themselves what they say when it is imported as it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap

DESCRIBE = """
    import dataclasses, importlib, json, sys
    standard = dataclasses.dataclass
    if sys.argv[1] == "load":
        from minitriton.dialects.xdsl_loading import load_xdsl
        load_xdsl()
    from minitriton.dialects.xdsl_loading import _CORE, _DIALECTS
    from xdsl import irdl
    from xdsl.ir import Operation
    for module in (*_CORE, *_DIALECTS):
        importlib.import_module(module)
    assert dataclasses.dataclass is standard
    assert irdl.irdl_op_definition.__module__ == "xdsl.irdl.operations"

    def of_dataclass(cls):
        fields = [(f.name, str(f.type), repr(f.default), f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(cls)]
        methods = [getattr(cls, name) is not getattr(object, name) for name in ("__init__", "__repr__", "__eq__", "__hash__")]
        return [fields, cls.__match_args__, repr(cls.__dataclass_params__), methods, cls.__hash__ is None]

    found = {}
    for name in sorted(m for m in sys.modules if m.startswith("xdsl.")):
        for key, cls in sorted(vars(sys.modules[name]).items()):
            if not isinstance(cls, type) or cls.__module__ != name:
                continue
            if dataclasses.is_dataclass(cls):
                found[f"{name}.{key}"] = of_dataclass(cls)
            if issubclass(cls, irdl.IRDLOperation) and cls is not irdl.IRDLOperation and "get_irdl_definition" in vars(cls):
                found[f"{name}.{key} as an op"] = [repr(cls.get_irdl_definition()), sorted(map(repr, cls.traits))]
    print(json.dumps(found))
"""


def described(how: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DESCRIBE), how],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "", text)


def test_classes_are_what_they_are_when_xdsl_is_imported_as_it_is() -> None:
    loaded, as_it_is = described("load"), described("import")
    assert set(loaded) == set(as_it_is)
    assert len(loaded) > 300
    for name, facts in loaded.items():
        assert without_addresses(json.dumps(facts)) == without_addresses(json.dumps(as_it_is[name])), name
