"""The public API type-checks as user code."""

from __future__ import annotations

import pytest

from tests.typing.strict import passes


@pytest.mark.slow
def test_user_code_type_checks() -> None:
    """tests/typing/langchain_usage.py passes mypy --strict with the installed LangChain."""
    passes("langchain_usage.py")
