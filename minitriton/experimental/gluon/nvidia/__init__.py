"""NVIDIA descriptors of Gluon."""
