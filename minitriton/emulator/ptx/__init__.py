"""PTX text as a program: parsed, its calls expanded, its blocks ordered."""
