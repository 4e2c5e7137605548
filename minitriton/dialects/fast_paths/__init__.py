"""xDSL's work in less time: what a compile asks most often of ops, attributes and text.

Nothing here changes what IR is or says; each module replaces something of xDSL that gives the same result more slowly.
"""
