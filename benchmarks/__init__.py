"""Benchmarks: costs as ratios against a floor measured in the same run, interleaved. Run with ``make bench``."""
