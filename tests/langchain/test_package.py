"""What importing costs and needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import langchain_memorybank

HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name.split(".")[0] in {hidden!r} else real(name, *a)
"""


def python(code: str, hidden: tuple[str, ...] = ()) -> str:
    run = subprocess.run(
        [sys.executable, "-c", HIDE.format(hidden=set(hidden)) + code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_all_names_exist() -> None:
    """``__all__`` is what the package gives, no more and no less."""
    for name in langchain_memorybank.__all__:
        assert getattr(langchain_memorybank, name) is not None
    assert set(langchain_memorybank.__all__) <= set(dir(langchain_memorybank))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = langchain_memorybank.nonsense  # type: ignore[attr-defined]  # wrong on purpose


def test_history_retriever_tools_and_models_need_langchain_core_alone() -> None:
    """With langchain and langgraph missing these work, and the other two say what to install."""
    out = python(
        """
import langchain_memorybank as m
for name in ("MemoryBankChatMessageHistory", "MemoryBankRetriever", "memorybank_tools", "from_langchain",
             "from_chat_model"):
    getattr(m, name)
for name in ("MemoryBankMiddleware", "MemoryBankStore"):
    try:
        getattr(m, name)
    except ImportError as error:
        print(error)
import tempfile
from memorybank import MemoryStore
with MemoryStore.open(tempfile.mkdtemp(), embedder=None, chroma=False) as store:
    m.MemoryBankChatMessageHistory(store=store, user_id="g", session_id="s").add_user_message("my cat")
    print(m.MemoryBankRetriever(store=store).invoke("cat", {"configurable": {"user_id": "g"}})[0].page_content)
    print(m.memorybank_tools(store, user_id="g")[0].invoke({"query": "cat"}).count("my cat"))
""",
        ("langchain", "langgraph"),
    )
    assert out.count("memorybank-core[langchain]") == 2
    assert out.splitlines()[-2:] == ["user: my cat", "1"]


def test_without_langchain_the_error_names_the_extra() -> None:
    """Not a bare ModuleNotFoundError."""
    out = python(
        """
try:
    import langchain_memorybank
except ImportError as error:
    print(error)
""",
        ("langchain_core",),
    )
    assert "memorybank-core[langchain]" in out


def test_importing_the_package_imports_no_framework_until_a_name_is_used() -> None:
    """Lazy: the retriever does not load the agent machinery."""
    out = python(
        """
import sys
import langchain_memorybank
langchain_memorybank.MemoryBankRetriever
print([name for name in ("langchain", "langgraph", "chromadb") if name in sys.modules])
"""
    )
    assert out.strip() == "[]"
