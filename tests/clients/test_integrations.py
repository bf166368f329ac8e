"""The adapters of our Python client in the libraries that they are for."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.guides import Example, read_examples
from tests.clients.conftest import PROGRAMS
from tests.clients.environments import PROJECT, Environment, clean_environment
from tests.clients.stack import Account, Stack
from tests.support.scripted_model import ScriptedModel

OURS = {"PYTHONPATH": str(PROJECT / "clients" / "python" / "src")}
GUIDE = PROJECT / "docs" / "python.md"
Install = Callable[[str], Environment]


@pytest.mark.spec("C9", "A4")
def test_langchain(python_environment: Install, account: Account) -> None:
    environment = python_environment("jiyi-langchain")
    found = environment.run(PROGRAMS / "jiyi_langchain.py", account.connection(), environment=OURS)
    colour, sister = found["retrieved"][:2]
    assert (colour["text"], colour["kind"], colour["category"]) == ("喜欢的颜色: 蓝色, 绿色", "long_term", "preference")
    assert (sister["text"], sister["kind"]) == ("The user's sister Wilhelmina paints in blue.", "atomic")
    assert sister["tags"] == ["family"]
    assert colour["score"] > 0 < sister["score"]
    assert len(found["one"]) == 1
    assert found["nothing"] == []
    assert [it["id"] for it in found["in a thread"]] == [it["id"] for it in found["async"]] == [sister["id"]]

    known = 'Known: ["The user\'s sister Wilhelmina paints in blue."]'
    assert found["replies"][0] == f"2 messages, {known}"
    assert found["replies"][1].startswith("4 messages, Known: ")
    said = ["Who is Wilhelmina?", found["replies"][0], "And I?", found["replies"][1]]
    assert found["stored"] == [[role, text] for role, text in zip(["user", "assistant"] * 2, said, strict=True)]
    assert found["read"] == [[kind, text] for kind, text in zip(["human", "ai"] * 2, said, strict=True)]
    assert (found["empty"], found["not made yet"]) == ([], None)
    assert found["added"] == [["human", "Hello"], ["human", "Again"]]
    assert found["cleared"]


@pytest.mark.spec("C9", "C5")
def test_llama_index(python_environment: Install, account: Account) -> None:
    environment = python_environment("jiyi-llama-index")
    found = environment.run(PROGRAMS / "jiyi_llama_index.py", account.connection(), environment=OURS)
    system, question = found["prompt"]
    assert "<jiyi>" in system
    assert "- 喜欢的颜色: 蓝色" in system
    assert "- The user's sister Wilhelmina &lt;/jiyi&gt; paints in blue." in system
    assert question.startswith("Who is Wilhelmina")
    assert "Wilhelmina &lt;" in found["asked"][0]
    recorded = [text.partition(":")[0] for _role, text in found["recorded"]]
    assert recorded[:3] == ["Who is Wilhelmina, and which colour 喜欢的颜色?", "Turn 0", "Reply 0."]
    assert {role for role, _text in found["recorded"]} == {"user", "assistant"}
    assert found["chosen"] == [["user", "Hello"]]
    assert found["cut"] == ["- one one\n- two two", "- one one", None]
    assert found["nothing"] == ""


@pytest.mark.spec("C9", "T4")
def test_hermes(python_environment: Install, stack: Stack, account: Account) -> None:
    environment = python_environment("jiyi-hermes")
    home = {"HERMES_HOME": str(stack.folder / f"hermes-{account.token[:8]}")}
    found = environment.run(PROGRAMS / "jiyi_hermes.py", account.connection(), environment=OURS | home)
    description, available = found["without a token"]
    assert description.startswith("Jiyi: a memory")
    assert available is False
    assert "jiyi_search" in found["prompt"]
    assert found["tools"] == ["jiyi_forget", "jiyi_remember", "jiyi_search"]
    assert "蓝色" in found["recalled"]
    assert "蓝色" not in found["not recalled"]
    assert [text for role, text in found["first"] if role == "user"] == [
        "I have a sister called Wilhelmina.",
        "Ok.",
        "Ok.",
    ]
    assert found["second"] == [["user", "After compression"], ["assistant", "Noted."]]
    assert found["third"] == [["user", "Something new"], ["assistant", "Noted."]]

    assert found["remembered"]["remembered"] == "The user owns a boat."
    assert [it["id"] for it in found["searched"]["results"]] == [found["remembered"]["id"]]
    assert found["forgotten"] == {"deleted": 1}
    assert found["again"]["error"].startswith("NotFound")
    assert "error" in found["wrong"]
    assert found["mirrored"] == ["The user prefers tea."]

    assert [text for role, text in found["resumed"] if role == "user"] == ["Something new", "Later"]
    assert [text for role, text in found["anew"] if role == "user"] == ["After deletion"]
    assert found["job"] == {"recalled": "", "tools": ["jiyi_search"], "kept": 0}
    assert found["offline"] == ""


HERMES_CONFIG = """\
model:
  default: scripted
  provider: custom
  base_url: {base_url}
  api_key: test
  context_length: 131072
memory:
  provider: jiyi
"""


@pytest.mark.spec("C9")
def test_the_agent_hermes_recalls_and_records(
    python_environment: Install, account: Account, model: ScriptedModel, tmp_path: Path
) -> None:
    """The program `hermes` as its users start it; its own model is the scripted one."""
    environment = python_environment("jiyi-hermes")
    (tmp_path / "config.yaml").write_text(HERMES_CONFIG.format(base_url=model.base_url))
    login = {"JIYI_URL": account.url, "JIYI_TOKEN": account.token, "HERMES_HOME": str(tmp_path)}
    variables = clean_environment(tmp_path) | OURS | login
    start = {"env": variables, "cwd": tmp_path, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    subprocess.run([environment.interpreter, "-m", "jiyi.integrations.hermes"], check=True, timeout=60, **start)
    account.post("/memory/long-term", {"category": "preference", "key": "喜欢的颜色", "value": "孔雀蓝"})
    model.default = lambda _request: "孔雀蓝。"
    question = "我喜欢的颜色是什么？"
    hermes = [environment.interpreter.parent / "hermes", "chat", "-Q", "-q", question]
    done = subprocess.run(hermes, timeout=180, **start)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "孔雀蓝。" in done.stdout

    asked = next(it.body for it in model.chat_requests if it.body.get("tools"))
    assert {"jiyi_search", "jiyi_remember", "jiyi_forget"} <= {tool["function"]["name"] for tool in asked["tools"]}
    said = [message["content"] for message in asked["messages"] if message["role"] == "user"]
    assert said[-1].startswith(question)
    assert "孔雀蓝" in said[-1]
    (session,) = account.list_sessions()
    messages = account.get(f"/chat/sessions/{session}/messages")["results"]
    assert [message["content"] for message in messages] == [question, "孔雀蓝。"]


@pytest.mark.parametrize("example", [it for it in read_examples(GUIDE) if it.needs], ids=str)
def test_examples_of_the_guide(example: Example, python_environment: Install, account: Account, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(
        f"import contextlib, io, json, sys\nwith contextlib.redirect_stdout(io.StringIO()) as printed:\n"
        f"{textwrap.indent(example.code, '    ')}\njson.dump(printed.getvalue(), sys.stdout)\n"
    )
    login = {"JIYI_URL": account.url, "JIYI_TOKEN": account.token}
    environment = python_environment(f"jiyi-{example.needs}")
    example.check(environment.run(program, {}, environment=OURS | login))
