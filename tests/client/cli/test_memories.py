"""`jiyi add`, `list`, `search`, `forget`, `import`, `export`, `stats` and `spaces`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apps.accounts.models import Space
from apps.memory.models import AtomicMemory, LongTermMemory
from jiyi import Jiyi as Client
from tests.client.cli.conftest import Jiyi

pytestmark = pytest.mark.long_except(
    "test_a_statement_is_added",
    "test_what_cannot_be_added",
    "test_a_list_is_lines_with_tabs_in_a_pipe",
    "test_memories_are_forgotten_by_id_after_a_question",
    "test_nobody_there_to_confirm",
    "test_a_space_is_made_listed_and_deleted",
    "test_what_cannot_be_meant_changes_nothing",
)


@pytest.fixture
def remembered(client: Client) -> dict[str, str]:
    """The IDs of some memories, by what they say."""
    long_term = [
        client.long_term.create(category="preference", key="喜欢的颜色", value="蓝色"),
        client.long_term.create(category="fact", key="allergies", value=["peanuts", "shrimp"]),
    ]
    atomic = client.atomic.create(content="The user moved to York.\nIt was in May.", tags=["home"])
    return {memory.key: memory.id for memory in long_term} | {"York": atomic.id}


# add


def test_a_statement_is_added(jiyi: Jiyi):
    done = jiyi("add", "I", "own a bicycle.", "--tag", "things", "--tag", "sport")
    memory = AtomicMemory.objects.get()
    assert (done.code, done.out) == (0, f"{memory.id}\n")
    assert (memory.content, memory.tags) == ("I own a bicycle.", ["things", "sport"])
    assert jiyi("add", "-", piped="I own a boat.\n").code == 0
    assert AtomicMemory.objects.filter(content="I own a boat.").exists()


def test_a_value_is_added(jiyi: Jiyi):
    assert jiyi("add", "--key", "home", "York").code == 0
    done = jiyi("add", "--key", "宠物", "--category", "preference", "猫", "狗", "--json")
    assert (done.json["value"], done.json["category"]) == (["猫", "狗"], "preference")
    assert LongTermMemory.objects.get(key="home").value == "York"


@pytest.mark.parametrize("arguments", [["x", "--key", "k", "--tag", "t"], [], ["x", "--key", "k", "--category", "q"]])
def test_what_cannot_be_added(arguments: list[str], jiyi: Jiyi):
    done = jiyi("add", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: jiyi add")
    assert jiyi("add", "  ").code == 1


# list


def test_a_list_is_lines_with_tabs_in_a_pipe(jiyi: Jiyi, remembered: dict[str, str]):
    done = jiyi("list")
    assert [row[1:] for row in done.rows] == [
        ["long-term", "allergies: peanuts, shrimp", remembered["allergies"]],
        ["long-term", "喜欢的颜色: 蓝色", remembered["喜欢的颜色"]],
        ["atomic", "The user moved to York. It was in May.", remembered["York"]],
    ]
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["atomic"], ["York"]),
        (["long-term"], ["allergies", "喜欢的颜色"]),
        (["--category", "preference"], ["喜欢的颜色"]),
        (["--search", "颜色"], ["喜欢的颜色"]),
        (["long-term", "--limit", "1"], ["allergies"]),
        (["--status", "pending"], []),
        (["long-term", "--status", "all", "--search", "PEANUTS"], ["allergies"]),
    ],
)
def test_a_list_is_chosen(arguments: list[str], found: list[str], jiyi: Jiyi, remembered: dict[str, str]):
    done = jiyi("list", *arguments)
    assert [row[-1] for row in done.rows] == [remembered[name] for name in found]
    assert ("Nothing found" in done.err) is not bool(found)


def test_statuses_are_shown(jiyi: Jiyi, client: Client, remembered: dict[str, str]):
    client.long_term.update(remembered["allergies"], muted=True)
    client.long_term.create(category="preference", key="喜欢的颜色", value="绿色")
    texts = [row[2] for row in jiyi("list", "long-term", "--status", "all").rows]
    assert texts == ["喜欢的颜色: 绿色", "allergies: peanuts, shrimp (muted)", "喜欢的颜色: 蓝色 (superseded)"]


def test_a_long_list_is_read_page_by_page(jiyi: Jiyi, client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jiyi.cli.memories.MAX_PAGE", 2)
    ids = [client.atomic.create(content=f"The user owns {n} chairs.").id for n in range(2, 7)]
    assert [row[-1] for row in jiyi("list", "atomic", "--limit", "4").rows] == ids[:0:-1]


# search


def test_a_search_shows_what_would_be_recalled(jiyi: Jiyi, remembered: dict[str, str]):
    done = jiyi("search", "我喜欢什么颜色")
    assert done.rows[0][1:] == ["long-term", "喜欢的颜色: 蓝色", remembered["喜欢的颜色"]]
    found = jiyi("search", "York", "--limit", "1", "--json").json
    assert found["atomic"][0]["memory"]["id"] == remembered["York"]


def test_a_search_in_messages(jiyi: Jiyi, client: Client):
    from apps.conversations.models import Message
    from apps.memory.vectors.messages import prepare_embeddings, store_embeddings

    session = client.sessions.create()
    client.sessions.record(session.id, [{"role": "user", "content": "I have a black cat."}])
    store_embeddings(prepare_embeddings(Message.objects.all()))
    done = jiyi("search", "--messages", "I have a black cat.")
    assert done.rows[0][1:] == ["user", "I have a black cat.", session.id]
    assert jiyi("search", "--messages", "--json", "I have a black cat.").json[0]["chat_id"] == session.id
    assert jiyi("search", "--messages", "tax return").err == "Nothing found.\n"


# forget


def test_memories_are_forgotten_by_id_after_a_question(jiyi: Jiyi, remembered: dict[str, str]):
    ids = [remembered["allergies"], remembered["York"]]
    done = jiyi("forget", *ids, typed="n\n")
    assert done.code == 130
    assert "allergies: peanuts, shrimp" in done.err
    assert LongTermMemory.objects.count() == 2
    done = jiyi("forget", *ids, typed="y\n")
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("Deleted 2 memories.\n")
    assert (LongTermMemory.objects.get().key, AtomicMemory.objects.count()) == ("喜欢的颜色", 0)


def test_memories_of_both_kinds_are_muted(jiyi: Jiyi, remembered: dict[str, str]):
    ids = [remembered["allergies"], remembered["York"]]
    assert jiyi("mute", *ids).err == "Muted 2 memories.\n"
    assert [memory.muted for memory in (LongTermMemory.objects.get(id=ids[0]), AtomicMemory.objects.get())] == [
        True
    ] * 2
    assert jiyi("mute", ids[0], "--off").err == "Unmuted 1 memory.\n"
    assert not LongTermMemory.objects.filter(muted=True).exists()
    assert jiyi("mute", "00000000-0000-0000-0000-000000000007").code != 0


def test_memories_are_forgotten_by_text(jiyi: Jiyi, remembered: dict[str, str]):
    assert jiyi("forget", "--search", "颜色", "--yes").err == "Deleted 1 memory.\n"
    assert jiyi("forget", "--search", "nothing of it", "--yes").err == "Nothing found.\n"
    assert jiyi("forget", "--search", "york", "--yes", "--json").json == {"deleted": 1, "copies": []}


@pytest.mark.spec("L6")
def test_copies_are_offered(jiyi: Jiyi, client: Client):
    def make() -> str:
        client.long_term.create(category="fact", key="home", value="Wolverhampton")
        client.atomic.create(content="The user's home is Wolverhampton.")
        return client.long_term.list(search="Wolverhampton").results[0].id

    done = jiyi("forget", make(), "--yes")
    assert "other place" in done.err
    assert AtomicMemory.objects.filter(status="active").count() == 1
    AtomicMemory.objects.all().delete()
    done = jiyi("forget", make(), typed="y\ny\n")
    assert "Delete 1 copy, too?" in done.err
    assert AtomicMemory.objects.filter(status="active").count() == 0
    assert jiyi("forget", make(), "--yes", "--copies", "--json").json == {"deleted": 1, "copies": []}
    assert AtomicMemory.objects.filter(status="active").count() == 0


def test_nobody_there_to_confirm(jiyi: Jiyi, remembered: dict[str, str]):
    done = jiyi("forget", remembered["York"])
    assert done.code == 2
    assert "--yes" in done.err
    assert AtomicMemory.objects.count() == 1


@pytest.mark.parametrize("arguments", [[], ["--search", " "], ["ID", "--search", "x"]])
def test_what_to_forget_has_to_be_said(arguments: list[str], jiyi: Jiyi, remembered: dict[str, str]):
    assert jiyi("forget", "--yes", *arguments).code == 2
    assert LongTermMemory.objects.count() == 2


# import, export, stats


@pytest.mark.spec("M4", "R2")
def test_an_export_can_be_imported(jiyi: Jiyi, remembered: dict[str, str], tmp_path: Path):
    file = tmp_path / "memories.json"
    done = jiyi("export", "--long-term", str(file))
    assert (done.code, done.out, done.err) == (0, "", f"Exported 2 rows to {file}.\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert jiyi("forget", "--yes", remembered["allergies"]).code == 0
    assert jiyi("import", "--long-term", str(file)).err == "Created 1, updated 0, unchanged 1.\n"
    assert LongTermMemory.objects.get(pk=remembered["allergies"]).value == ["peanuts", "shrimp"]
    assert json.loads(jiyi("export", "--long-term").out) == json.loads(file.read_text())


def test_a_file_that_is_not_there(jiyi: Jiyi, tmp_path: Path):
    assert jiyi("import", str(tmp_path / "none.json")).code == 2
    done = jiyi("export", str(tmp_path / "none" / "x" / "e.json"))
    assert done.code == 0  # the folder is made
    (tmp_path / "file").write_text("")
    done = jiyi("export", str(tmp_path / "file" / "e.json"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")


def test_stats(jiyi: Jiyi, remembered: dict[str, str]):
    numbers = jiyi("stats", "--json").json
    assert numbers["long_term"] == {"active": 2, "preference": 1, "fact": 1, "pattern": 0, "muted": 0, "pending": 0}
    assert numbers["atomic"] == {"active": 1, "muted": 0, "pending": 0}
    assert ["long term active", "2"] in jiyi("stats").rows


# spaces


@pytest.fixture
def novel(client: Client) -> str:
    """The ID of a space."""
    return client.spaces.create(name="The novel", instructions="Answer as an editor.").id


@pytest.mark.spec("P5")
def test_a_space_is_made_listed_and_deleted(jiyi: Jiyi, client: Client):
    made = jiyi("spaces", "--create", "The novel", "--kind", "character")
    space = Space.objects.get()
    row = ["The novel", "character", "0", "0", str(space.id)]
    assert (made.code, made.rows) == (0, [row])
    assert jiyi("spaces").rows == [row]
    assert jiyi("spaces", "--create", "the novel").code == 1
    client.atomic.create(content="The heroine sings.", space=str(space.id))
    assert jiyi("search", "heroine").rows == []
    assert len(jiyi("search", "heroine", "--space", "all").rows) == 1
    assert jiyi("spaces", "--delete", "the novel", "--to", "none", typed="n\n").code == 130
    assert jiyi("spaces", "--delete", "the novel", "--erase", "--yes", "--json").json["erased"]["atomic"] == 1
    assert not Space.objects.exists()


@pytest.mark.spec("P5")
@pytest.mark.parametrize(
    "arguments",
    [
        ["spaces", "--delete", "The novel"],
        ["spaces", "--delete", "The novel", "--to", "none", "--erase"],
        ["spaces", "--delete", "The novel", "--erase"],
        ["spaces", "--delete", "garden", "--erase", "--yes"],
        ["spaces", "--create", "x", "--delete", "The novel"],
        ["spaces", "--erase"],
        ["spaces", "--kind", "character"],
        ["add", "x", "--space", "garden"],
        ["move", "1", "--to", "garden"],
        ["ask", "x", "--space", "The novel", "--session", "1"],
    ],
)
def test_what_cannot_be_meant_changes_nothing(arguments: list[str], jiyi: Jiyi, novel: str):
    done = jiyi(*arguments)
    assert (done.code, done.out) == (2, "")
    assert Space.objects.filter(id=novel).exists()
    assert not AtomicMemory.objects.exists()
