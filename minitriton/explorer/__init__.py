"""Seeing a kernel turn into PTX: every pass recorded, before and after compared op by op.

recording     runs a pipeline and keeps the text of every state, each line with its op, its location and its values
snapshot      one state as lines; values keep their names from pass to pass
difference    two states compared: what is new, gone, moved, changed
terminal      the same for a terminal
"""
