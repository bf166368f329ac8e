"""What the tools and resources do and say (T1, T2, X2), called as a client calls them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import create_token, update_settings
from apps.conversations.models import Message
from apps.conversations.sessions import create_session
from apps.doors.mcp.server import TOOLS
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, Change, ContextEntry, LongTermMemory, Status
from apps.profile.services import update_profile
from apps.summaries.services import create_session_summary
from tests.support.mcp import REVISIONS, McpCaller

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("T2"),
    pytest.mark.long_except(
        "test_every_tool_is_described_for_a_model_and_a_client",
        "test_search_is_always_there_and_finds_both_kinds",
        "test_a_memory_with_a_key_is_an_attribute_whose_value_is_replaced",
        "test_memories_of_both_kinds_are_changed",
        "test_what_a_tool_refuses_is_told_in_a_sentence_and_changes_nothing",
        "test_an_error_of_ours_is_no_stack_trace",
        "test_what_a_model_marks_is_handled_as_its_person_chose",
        "test_a_secret_is_refused_and_masked_in_what_was_said",
    ),
]

NOWHERE = str(uuid.UUID(int=7))


@pytest.fixture(params=REVISIONS)
def caller(request: pytest.FixtureRequest, mei: User) -> McpCaller:
    """A client of each revision, with a personal token."""
    return McpCaller(create_token(user=mei, name="notebook"), request.param)


@pytest.fixture
def agent(mei: User) -> McpCaller:
    """A client of the newest revision."""
    return McpCaller(create_token(user=mei, name="notebook"))


def test_every_tool_is_described_for_a_model_and_a_client(caller: McpCaller) -> None:
    tools = {tool["name"]: tool for tool in caller.ask("tools/list")["tools"]}
    assert list(tools) == [
        "search_memories", "search_conversations", "read_conversation", "add_memory", "update_memory", "delete_memory",
        "mute_memory", "list_spaces", "move_memories", "get_profile", "list_session_summaries", "createContext",
        "fetchContext", "updateContext",
    ]  # fmt: skip
    for tool in tools.values():
        assert tool["title"]
        assert len(tool["description"]) > 40
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "$ref" not in str(schema)
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all(argument["description"] for argument in tool["inputSchema"]["properties"].values())
    hints = {name: tool["annotations"] for name, tool in tools.items()}
    conversations = {"search_conversations", "read_conversation"}
    readers = {
        "search_memories",
        "list_spaces",
        "get_profile",
        "list_session_summaries",
        "fetchContext",
        *conversations,
    }
    assert {name for name, hint in hints.items() if hint["readOnlyHint"]} == readers
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"update_memory", "delete_memory"}
    assert {name for name, hint in hints.items() if not hint["idempotentHint"]} == {"createContext", "updateContext"}
    assert not any(hint["openWorldHint"] for hint in hints.values())


def test_what_tools_return_is_as_their_schemas_say(agent: McpCaller, mei: User) -> None:
    now = timezone.now()
    session = create_session(user=mei, title="t", temporary=False)
    create_session_summary(user=mei, session_id=session.id, title="Hiking", snippet="Wants to climb.", now=now)
    atomic = agent.call("add_memory", content="Mei hikes on Sundays.", tags=["hiking"])["memory"]["id"]
    context = agent.call("createContext", title="Deposit", content="Paid in May.")["id"]
    calls: dict[str, dict[str, Any]] = {
        "search_memories": {"keyword": "hikes", "time_range": {"since": "2020-01-01"}},
        "search_conversations": {"query": "hikes", "until": "2090-01-01"},
        "read_conversation": {"session_id": str(session.id)},
        "add_memory": {"content": "York", "key": "home town", "category": "fact"},
        "update_memory": {"id": atomic, "content": "Mei hikes on Saturdays."},
        "mute_memory": {"id": atomic},
        "list_spaces": {},
        "move_memories": {"ids": [atomic]},
        "get_profile": {},
        "list_session_summaries": {"limit": 1},
        "createContext": {"title": "t", "content": "c"},
        "fetchContext": {"id": context},
        "updateContext": {"id": context, "text": "more"},
        "delete_memory": {"id": atomic},
    }
    assert set(calls) == set(TOOLS)
    for name, arguments in calls.items():
        checker = jsonschema.Draft202012Validator(TOOLS[name].output_schema, format_checker=jsonschema.FormatChecker())
        jsonschema.validate(arguments, TOOLS[name].input_schema)
        checker.validate(agent.call(name, **arguments))


# Searching


@pytest.mark.spec("T1")
def test_search_is_always_there_and_finds_both_kinds(caller: McpCaller, mei: User) -> None:
    now = timezone.now()
    stated, _action = create_memory(user=mei, category="preference", key="喜欢的颜色", value="蓝色", now=now)
    said, _new = create_atomic_memory(user=mei, content="用户给墙刷了蓝色的漆。", now=now)
    found = caller.call("search_memories", keyword="蓝色")["results"]
    assert {(one["id"], one["kind"]) for one in found} == {(str(stated.id), "long_term"), (str(said.id), "atomic")}
    assert {one["text"] for one in found} == {"喜欢的颜色: 蓝色", "用户给墙刷了蓝色的漆。"}
    assert LongTermMemory.objects.get().access_count == 0


@pytest.mark.spec("T1")
def test_a_time_range_takes_times_and_dates_of_the_persons_zone(agent: McpCaller, mei: User) -> None:
    update_settings(user=mei, changes={"memory.timezone": "Asia/Shanghai"})
    evening = timezone.datetime.fromisoformat("2026-05-01T17:30:00+00:00")  # 01:30 on the second in Shanghai
    create_atomic_memory(user=mei, content="Mei bought a kayak.", timestamp=evening, now=timezone.now())

    def found(**time_range: str) -> int:
        return len(agent.call("search_memories", keyword="kayak", time_range=time_range)["results"])

    assert found() == 1
    assert (found(since="2026-05-02"), found(since="2026-05-03"), found(until="2026-05-01")) == (1, 0, 0)
    assert (found(until="2026-05-02"), found(since="2026-05-02", until="2026-05-02")) == (1, 1)
    assert (found(since="2026-05-01T17:30:00Z"), found(since="2026-05-01T17:31:00Z")) == (1, 0)
    assert (found(until="2026-05-02T01:30:00"), found(until="2026-05-02T01:29:00")) == (1, 0)  # no offset: her zone


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("search_memories", {}, "keyword: Field required."),
    ("search_memories", {"keyword": 7}, "keyword: Input should be a valid string."),
    ("search_memories", {"keyword": "a\x00"}, "Text must not contain U+0000 at keyword."),
    ("search_memories", {"keyword": "x", "limit": 3}, "limit: There is no such argument."),
    ("search_memories", {"keyword": "x", "time_range": {"from": "2026-05-01"}}, "time_range.from: There is no such"),
    ("search_memories", {"keyword": "x", "time_range": {"until": "9999-12-31"}}, "time_range.until: Must be a date or"),
    (
        "search_memories",
        {"keyword": "x", "time_range": {"since": "2026-05-02", "until": "2026-05-01"}},
        "time_range: since is later than until.",
    ),
    ("add_memory", {"content": "x", "category": "fact"}, "category: Only a memory with a key has a category."),
    ("add_memory", {"content": "x", "key": "k", "tags": ["t"]}, "tags: Only a memory without a key has tags."),
    ("add_memory", {"content": "x" * 32_001}, "The content has over 32,000 characters."),
    (
        "update_memory",
        {"id": "<atomic>"},
        "Name at least one of content, key, category, tags, valid_until and sensitive to change.",
    ),
    ("update_memory", {"id": "<atomic>", "key": "k"}, "key: An atomic memory has none."),
    ("update_memory", {"id": "<stated>", "tags": ["t"]}, "tags: A long-term memory has none."),
    ("update_memory", {"id": "seven", "content": "x"}, "id: Input should be a valid UUID"),
    ("list_session_summaries", {"limit": 51}, "limit: Input should be less than or equal to 50"),
    ("fetchContext", {"id": NOWHERE}, "This context does not exist."),
    ("updateContext", {"id": "<full>", "text": "x" * 1_000}, "A shared context has at most 65,536 bytes"),
    ("createContext", {"title": " ", "content": "c"}, "title: Must not be blank."),
]


@pytest.mark.spec("X2", "X3")
def test_what_a_tool_refuses_is_told_in_a_sentence_and_changes_nothing(agent: McpCaller) -> None:
    ids = {
        "<atomic>": agent.call("add_memory", content="Mei plays the cello.")["memory"]["id"],
        "<stated>": agent.call("add_memory", content="Leeds", key="home town")["memory"]["id"],
        "<full>": agent.call("createContext", title="t", content="x" * 65_000)["id"],
    }
    before = Change.objects.count()
    for tool, arguments, sentence in REFUSED:
        given = arguments | {"id": ids.get(arguments["id"], arguments["id"])} if "id" in arguments else arguments
        assert agent.fail(tool, **given).startswith(sentence), (tool, arguments)
    assert Change.objects.count() == before


# Keeping and changing


def test_a_memory_without_a_key_is_a_statement_and_kept_once(caller: McpCaller, mei: User) -> None:
    first = caller.call("add_memory", content=" Mei plays the cello. ", tags=["music"])
    assert first["action"] == "created"
    assert first["memory"]["text"] == "Mei plays the cello."
    assert (first["memory"]["kind"], first["memory"]["tags"], first["memory"]["key"]) == ("atomic", ["music"], None)
    again = caller.call("add_memory", content="Mei plays the cello", tags=["cello"])
    assert (again["action"], again["memory"]["id"]) == ("refreshed", first["memory"]["id"])
    assert again["memory"]["tags"] == ["music", "cello"]
    assert AtomicMemory.objects.get().user == mei


def test_a_memory_with_a_key_is_an_attribute_whose_value_is_replaced(agent: McpCaller) -> None:
    leeds = agent.call("add_memory", content="Leeds", key="home town")
    assert (leeds["action"], leeds["memory"]["text"]) == ("created", "home town: Leeds")
    assert (leeds["memory"]["category"], leeds["memory"]["value"]) == ("fact", "Leeds")
    york = agent.call("add_memory", content="York", key="Home town", category="preference")
    assert (york["action"], york["memory"]["category"]) == ("superseded", "preference")
    assert agent.call("add_memory", content="york", key="home town")["action"] == "refreshed"
    assert LongTermMemory.objects.get(id=leeds["memory"]["id"]).status == Status.SUPERSEDED


def test_memories_of_both_kinds_are_changed(agent: McpCaller) -> None:
    atomic = agent.call("add_memory", content="Mei plays the cello.", tags=["music"])["memory"]["id"]
    stated = agent.call("add_memory", content="Leeds", key="home town")["memory"]["id"]
    changed = agent.call("update_memory", id=atomic, content="Mei plays the viola.", tags=[])
    assert (changed["id"], changed["text"], changed["tags"]) == (atomic, "Mei plays the viola.", [])
    changed = agent.call("update_memory", id=stated, content="York", key="town", category="preference")
    assert (changed["id"], changed["text"], changed["category"]) == (stated, "town: York", "preference")
    assert agent.call("update_memory", id=stated, category="fact")["text"] == "town: York"


@pytest.mark.spec("L6")
def test_a_deleted_memory_is_gone_and_its_copies_are_named_or_deleted(agent: McpCaller) -> None:
    lives = {"content": "Mei lives in Leeds."}
    stated = agent.call("add_memory", **lives, key="home town")["memory"]["id"]
    agent.call("add_memory", **lives)
    gone = agent.call("delete_memory", id=stated)
    assert (gone["deleted"], [copy["kind"] for copy in gone["copies_left"]]) == (1, ["atomic"])
    assert agent.fail("delete_memory", id=stated) == "This memory does not exist."
    stated = agent.call("add_memory", **lives, key="home town")["memory"]["id"]
    assert agent.call("delete_memory", id=stated, copies=True) == {"deleted": 1, "copies_left": []}
    assert not AtomicMemory.objects.filter(status=Status.ACTIVE).exists()


@pytest.mark.spec("L10")
def test_a_muted_memory_is_kept_and_found_by_no_search(agent: McpCaller) -> None:
    memory = agent.call("add_memory", content="Mei plays the cello.")["memory"]["id"]
    assert agent.call("mute_memory", id=memory)["muted"] is True
    assert agent.call("search_memories", keyword="cello")["results"] == []
    assert memory not in str(agent.read("jiyi://memories/recent"))
    assert agent.read(f"jiyi://memories/{memory}")["muted"] is True
    assert agent.call("mute_memory", id=memory, muted=False)["muted"] is False
    assert [one["id"] for one in agent.call("search_memories", keyword="cello")["results"]] == [memory]


# Reading


def test_the_profile_and_the_summaries_are_read(caller: McpCaller, mei: User) -> None:
    assert caller.call("get_profile") == caller.read("jiyi://profile")
    assert caller.call("get_profile")["version"] == 0
    update_profile(user=mei, changes={"reply_style": "简短", "sections": {"工作": "护士"}}, now=timezone.now())
    profile = caller.call("get_profile")
    assert (profile["reply_style"], profile["sections"], profile["version"]) == ("简短", {"工作": "护士"}, 1)
    assert caller.read("jiyi://profile") == profile
    now = timezone.now()
    for number in range(3):
        session = create_session(user=mei, title="t", temporary=False)
        create_session_summary(user=mei, session_id=session.id, title=str(number), snippet="s", now=now)
    assert [one["title"] for one in caller.call("list_session_summaries", limit=2)["results"]] == ["2", "1"]
    assert len(caller.call("list_session_summaries")["results"]) == 3


def test_recent_memories_are_the_ones_changed_last_of_both_kinds(agent: McpCaller, mei: User) -> None:
    now = timezone.now()
    for number in range(15):
        create_atomic_memory(user=mei, content=f"Note {number}.", now=now + timedelta(minutes=number))
        create_memory(user=mei, category="fact", key=f"k{number}", value="v", now=now + timedelta(minutes=number))
    texts = [one["text"] for one in agent.read("jiyi://memories/recent")["results"]]
    assert len(texts) == 20
    assert set(texts) == {f"Note {n}." for n in range(5, 15)} | {f"k{n}: v" for n in range(5, 15)}
    assert set(texts[:2]) == {"Note 14.", "k14: v"}


def test_resources_are_listed_with_a_template_for_one_memory(caller: McpCaller) -> None:
    listed = caller.ask("resources/list")["resources"]
    assert [one["uri"] for one in listed] == ["jiyi://profile", "jiyi://memories/recent"]
    (template,) = caller.ask("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "jiyi://memories/{id}"
    memory = caller.call("add_memory", content="Mei plays the cello.")["memory"]
    assert caller.read(f"jiyi://memories/{memory['id']}") == memory


@pytest.mark.parametrize(
    "uri", ["jiyi://nothing", f"jiyi://memories/{NOWHERE}", "jiyi://memories/" + "-" * 36, "file:///etc/passwd"]
)
def test_a_resource_that_is_not_there_is_an_error_of_the_protocol(agent: McpCaller, uri: str) -> None:
    error = agent.send("resources/read", {"uri": uri}).json()["error"]
    assert error["code"] == -32602
    assert "does not exist" in error["message"]


def test_prompts_start_recalling_and_remembering(caller: McpCaller) -> None:
    prompts = {prompt["name"]: prompt for prompt in caller.ask("prompts/list")["prompts"]}
    assert {name: one["arguments"][0]["name"] for name, one in prompts.items()} == {
        "recall": "topic",
        "remember": "text",
    }
    for name, arguments in {"recall": {"topic": "my {cello}"}, "remember": {"text": "我住在约克 {topic}"}}.items():
        (message,) = caller.ask("prompts/get", {"name": name, "arguments": arguments})["messages"]
        assert message["role"] == "user"
        assert message["content"]["text"].endswith(f"\n\n{next(iter(arguments.values()))}")
    for params in ({"name": "rm"}, {"name": "recall"}, {"name": "recall", "arguments": {"topic": " "}}):
        assert caller.send("prompts/get", params).json()["error"]["code"] == -32602


# Shared contexts


@pytest.mark.spec("X1", "X2", "X3")
def test_a_shared_context_is_made_read_and_added_to(caller: McpCaller, mei: User) -> None:
    made = caller.call("createContext", title="押金", content="房东不退。")
    assert (made["title"], made["content"], made["entries"], made["session_id"]) == ("押金", "房东不退。", [], None)
    for text in ("已发函", "等回复"):
        added = caller.call("updateContext", id=made["id"], text=text)
    assert [(entry["author"], entry["text"]) for entry in added["entries"]] == [
        ("notebook", "已发函"), ("notebook", "等回复")
    ]  # fmt: skip
    assert caller.call("fetchContext", id=made["id"]) == added
    assert ContextEntry.objects.filter(user=mei).count() == 2


def test_an_error_of_ours_is_no_stack_trace(agent: McpCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_arguments: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("apps.chat.toolbox.get_user_profile", fail)
    assert agent.fail("get_profile") == "An internal error occurred. The details are in the server log."


# Arguments as models fill them in

PETREL = "Jo's boat is called Petrel."


@pytest.mark.parametrize(
    "absent",
    [
        {"key": "null", "category": None, "tags": None},
        {"key": " NULL ", "category": "null", "tags": "null"},
        {"key": "", "category": "", "tags": ""},
        {"key": "None", "tags": ["null", None]},
        {"key": "undefined", "confidence": None},
        {"tags": []},
    ],
)
def test_null_is_absent_in_whatever_writing(agent: McpCaller, absent: dict[str, Any]) -> None:
    for content in (PETREL, "Jo's car is called Puffin."):
        assert agent.call("add_memory", content=content, **absent)["action"] == "created"
    assert not LongTermMemory.objects.exists()
    assert set(AtomicMemory.objects.values_list("status", flat=True)) == {Status.ACTIVE}
    assert [memory.tags for memory in AtomicMemory.objects.all()] == [[], []]


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ("boats", ["boats"]),
        ("boats, Jo", ["boats", "Jo"]),
        ("船，小乔、海", ["船", "小乔", "海"]),
        ('["boats", "Jo"]', ["boats", "Jo"]),
        ("true", ["true"]),
        (["boats"], ["boats"]),
    ],
)
def test_a_text_of_tags_is_one_tag_or_several(agent: McpCaller, given: Any, tags: list[str]) -> None:
    memory = agent.call("add_memory", content=PETREL, tags=given)["memory"]
    assert memory["tags"] == tags
    changed = agent.call("update_memory", id=memory["id"], tags="sea", key="null", content=None)
    assert (changed["tags"], changed["text"]) == (["sea"], PETREL)


@pytest.mark.parametrize(
    "times",
    [{"since": "", "until": "null"}, {}, None, "null", "", {"since": None}, {"since": "undefined", "until": ""}],
)
def test_a_range_without_times_is_none(agent: McpCaller, times: Any) -> None:
    agent.call("add_memory", content=PETREL)
    found = agent.call("search_memories", keyword="boat", time_range=times)["results"]
    assert [one["text"] for one in found] == [PETREL]


def test_none_is_a_value_and_an_unknown_argument_with_a_value_is_refused(agent: McpCaller) -> None:
    memory = agent.call("add_memory", content="peanuts", key="allergies")["memory"]
    assert agent.call("update_memory", id=memory["id"], content="None", key="None")["value"] == "None"
    assert "There is no such argument" in agent.fail("add_memory", content=PETREL, colour="red")
    assert "Name at least one of" in agent.fail("update_memory", id=memory["id"], content="null", tags="null")


@pytest.mark.spec("D4")
def test_what_a_model_marks_is_handled_as_its_person_chose(agent: McpCaller, mei: User) -> None:
    update_settings(user=mei, changes={"memory.sensitive": {"health": "exclude", "money": "review"}})
    for key in ({}, {"key": "told"}):
        refused = agent.fail("add_memory", content="Mei takes lithium.", sensitive=["health", "money"], **key)
        assert refused == "Not remembered: the person has excluded health."
        waiting = agent.call("add_memory", content="Mei earns 4,000 a month.", sensitive=["money"], **key)
        assert (waiting["action"], waiting["memory"]["status"]) == ("pending", "pending")
        assert waiting["memory"]["sensitive"] == ["money"]
        again = agent.fail("add_memory", content="Mei earns 4,000 a month.", sensitive=["money"], **key)
        assert again.startswith("Not remembered: the same waits for review")
        kept = agent.call("add_memory", content="Mei goes to Mass.", sensitive=["faith"], **key)
        assert (kept["action"], kept["memory"]["sensitive"]) == ("created", ["faith"])
        memory_id = kept["memory"]["id"]
        assert "excluded" in agent.fail("update_memory", id=memory_id, content="Mei is ill.", sensitive=["health"])
        assert "reviews" in agent.fail("update_memory", id=memory_id, content="Mei is rich.", sensitive=["money"])
    assert "Input should be" in agent.fail("add_memory", content="It rains.", sensitive=["weather"])


def test_a_secret_is_refused_and_masked_in_what_was_said(agent: McpCaller, mei: User) -> None:
    assert "this looks like a password" in agent.fail("add_memory", content="My password is hunter2")
    assert not AtomicMemory.objects.filter(user=mei).exists()
    session = create_session(user=mei)
    said = {"role": "user", "content": "My password is hunter2", "position": 1, "create_time": timezone.now()}
    Message.objects.create(user=mei, session=session, **said)
    (found,) = agent.call("read_conversation", session_id=str(session.id))["results"]
    assert found["text"] == "My password is [password]"
