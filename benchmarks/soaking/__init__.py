"""Killing a process that uses a store, again and again, and checking what is left. ``python -m benchmarks.soak``."""
