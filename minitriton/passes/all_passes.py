"""Importing this module imports every module that registers a pass of TTIR and TTGIR, for who wants all of them."""

from __future__ import annotations

import importlib

from minitriton.passes.names import PASSES

for module in dict.fromkeys(PASSES.values()):
    importlib.import_module(module)
