"""IR to text, as MLIR writes it. The front door is `dialects.text`."""
