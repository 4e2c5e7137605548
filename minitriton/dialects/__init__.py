"""Ops, types and attributes, dialect by dialect, their facts, their text. The context with all of them is `context.make_context()`."""
