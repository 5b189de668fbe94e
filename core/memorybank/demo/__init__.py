"""The demo: ten days of a companion's talk, and what a memory makes of them over most of a year."""

from memorybank.demo.run import Step, run
from memorybank.demo.script import LANGUAGES, Question, Script, load_script

__all__ = ["LANGUAGES", "Question", "Script", "Step", "load_script", "run"]
