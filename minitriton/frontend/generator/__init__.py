"""The walk over a kernel's syntax tree: statements, expressions, calls, branches and loops."""
