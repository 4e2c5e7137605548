"""How each PTX instruction becomes Python: one module per family, registered by opcode."""
