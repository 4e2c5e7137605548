"""What is known of a program before it runs: values, memory, slices. Nothing here changes the IR."""
