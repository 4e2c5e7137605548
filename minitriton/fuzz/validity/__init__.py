"""What is known of a kernel before anything runs: types, definedness, and where all oracles must agree."""
