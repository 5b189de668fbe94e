"""The command line ``memorybank``: translates and delegates; one module per group of commands."""

from memorybank.cli.app import app, main

__all__ = ["app", "main"]
