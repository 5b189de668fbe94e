"""Measuring memory: labelled questions asked of real banks, through the public API alone (docs/evaluation.md)."""
