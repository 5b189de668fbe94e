"""Forgetting as pure functions: curve (how much is retained), policy (what for), decisions (what follows)."""

from memorybank.forgetting.curve import ForgettingCurve, Form
from memorybank.forgetting.decisions import Decision, Decisions, MemoryState, Outcome, decide, draw
from memorybank.forgetting.policy import DEFAULT_CURVE, NEVER_FADES, ForgettingPolicy, resolve_curve

__all__ = [
    "DEFAULT_CURVE",
    "NEVER_FADES",
    "Decision",
    "Decisions",
    "ForgettingCurve",
    "ForgettingPolicy",
    "Form",
    "MemoryState",
    "Outcome",
    "decide",
    "draw",
    "resolve_curve",
]
