"""Layouts by their Gluon names."""
