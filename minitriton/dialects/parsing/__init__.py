"""Text to IR, as MLIR writes it. The front door is `dialects.text`."""
