"""What the ops of `tt` demand beyond the types of their operands, with Triton's words: `checks` is the table."""
