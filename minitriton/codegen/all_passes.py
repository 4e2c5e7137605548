"""Importing this module imports every module of this layer that registers a pass or a translation."""

from __future__ import annotations

import importlib

from minitriton.codegen.names import PASSES

for module in dict.fromkeys(PASSES.values()):
    importlib.import_module(module)
