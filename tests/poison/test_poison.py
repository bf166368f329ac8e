"""Text that tries to steer later turns stays data, whatever brings it and however it is written (A3, C5).

`texts.jsonl` holds the attacks, each with the channel that it comes by; `innocent.jsonl` what people say of themselves
in much the same words. The model here is the worst there could be: it proposes every text, as it stands, as every kind
of memory. Nothing of the first file may be active afterwards, and everything of the second.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.services.people import update_settings
from apps.core.text.fold import normalize_value
from apps.core.text.instructions import is_disguised, is_instruction, strip_invisible
from apps.doors.imports.running import run_imports
from apps.doors.imports.services import create_import
from apps.extraction import tasks
from apps.memory.models import AtomicMemory, LongTermMemory, SharedContext, Status
from apps.profile.models import ProfileProposal, UserProfile
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.spec("A3", "C5")]

HERE = Path(__file__).parent
# Texts in one message: an extraction answer is read up to fifty items.
TOGETHER = 45


def read(name: str, channel: str = "") -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
    return [row for row in rows if not channel or row["channel"] == channel]


def list_texts(channel: str) -> list[str]:
    return [row["text"] for row in read("texts.jsonl", channel)]


INNOCENT = [row["text"] for row in read("innocent.jsonl")]


@pytest.fixture
def person(alice: ApiClient, model: ScriptedModel) -> ApiClient:
    update_settings(user=alice.user, changes={"memory.atomic_content_max_length": 5_000})
    return alice


def propose(texts: Sequence[str], response: str = "好的。") -> str:
    """The answer of a turn whose model wants everything remembered, for ever and while the session lasts."""
    entries = [
        {"category": "fact", "key": f"note {number}", "value": text, "source": "user_stated", "confidence": 1.0}
        for number, text in enumerate(texts)
    ]
    return answer(response, entries=entries, topic=texts[0][:100], variables={"note": texts[0]})


def learn(model: ScriptedModel, texts: Sequence[str]) -> None:
    """Extraction by the same model: facts, entries, profile and context of every text."""
    model.script(
        json.dumps(
            {
                "memories": [{"content": text, "about": 1, "confidence": 1.0} for text in texts],
                "entries": [
                    {"category": "fact", "key": f"note {number}", "value": text, "about": 1}
                    for number, text in enumerate(texts)
                ],
                "profile": [
                    {"section": section, "text": text, "about": 1}
                    for section, text in zip(("reply_style", "background") * len(texts), texts, strict=False)
                ],
                "context": {"title": "case", "content": texts[-1], "about": 1},
            }
        )
    )
    tasks.extract.apply().get()


def list_active(person: ApiClient) -> set[str]:
    """Everything that holds of a person without their having looked at it."""
    atomic = AtomicMemory.objects.filter(user=person.user, status=Status.ACTIVE).values_list("content", flat=True)
    long_term = LongTermMemory.objects.filter(user=person.user, status=Status.ACTIVE).values_list("value", flat=True)
    profile = UserProfile.objects.filter(user=person.user).first()
    sections = [profile.reply_style, profile.language_habits, profile.background] if profile else []
    contexts = SharedContext.objects.filter(user=person.user, message__isnull=False).values_list("content", flat=True)
    return {*atomic, *map(str, long_term), *filter(None, sections), *contexts}


def count_waiting(person: ApiClient) -> int:
    kinds = (AtomicMemory, LongTermMemory, ProfileProposal)
    return sum(kind.objects.filter(user=person.user, status="pending").count() for kind in kinds)


_BLOCKS = re.compile(r"(?:<([a-z_]+)>\n[^<>]*\n</\1>\s*)*")


def read_layers(person: ApiClient, session: str, message: str) -> list[str]:
    got = person.get(f"/chat/sessions/{session}/context", params={"message": message}).raise_for_status().json()
    return [layer["content"] for layer in got["layers"]]


def check_prompt(person: ApiClient, session: str, texts: Sequence[str]) -> None:
    """Even once its owner has accepted everything, remembered text is nowhere but in escaped blocks."""
    LongTermMemory.objects.filter(user=person.user, status="pending").update(status="active")
    AtomicMemory.objects.filter(user=person.user, status="pending").update(status="active")
    rules, *layers = read_layers(person, session, "What do you remember about me?")
    for text in texts:
        assert text not in rules
        assert len(strip_invisible(text)) < 8 or normalize_value(text) not in normalize_value(rules)
    assert any(layers[2:3])
    for layer in layers[:4]:
        assert _BLOCKS.fullmatch(layer), layer


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2))])
def test_what_a_message_says_waits_for_its_author(person: ApiClient, model: ScriptedModel, part: int) -> None:
    texts = list_texts("message")[part * TOGETHER : (part + 1) * TOGETHER]
    session = person.new_session()
    model.script(propose(texts))
    turn = person.say(session, "\n\n".join(texts)).raise_for_status().json()
    assert {update["action"] for update in turn["memory_updates"]} == {"pending"}
    learn(model, texts)
    assert list_active(person) == set()
    assert count_waiting(person) >= 1.5 * len(texts)
    check_prompt(person, session, texts)


@pytest.mark.long
def test_what_is_to_be_remembered_word_for_word_waits_too(person: ApiClient, model: ScriptedModel) -> None:
    texts = list_texts("remember")
    session = person.new_session()
    for text in texts:
        model.script(answer("好的。"))
        person.say(session, text).raise_for_status()
        assert list_active(person) == set(), text
    assert count_waiting(person) >= len(texts) / 2
    check_prompt(person, session, texts)


@pytest.mark.long
def test_memories_and_conversations_of_other_systems_wait(person: ApiClient, model: ScriptedModel) -> None:
    texts = list_texts("import")
    memories = [{"id": f"m{number}", "memory": text, "user_id": "alice"} for number, text in enumerate(texts)]
    lines = [{"role": "user", "content": "\n\n".join(texts), "session": "s"}]
    for data in (json.dumps(memories), "\n".join(map(json.dumps, lines))):
        create_import(user=person.user, file=io.BytesIO(data.encode()), name="file", now=timezone.now())
        while run_imports(token="test"):
            pass
    learn(model, texts)
    assert list_active(person) == set()
    assert count_waiting(person) >= 2 * len(texts)
    check_prompt(person, person.new_session(), texts)


def share(person: ApiClient, session: str, texts: Sequence[str]) -> dict[str, Any]:
    case = {"title": "Deposit and contact", "content": texts[0], "session_id": session}
    made = person.post("/memory/contexts", json=case).raise_for_status().json()
    for text in texts[1:]:
        body = {"text": text, "author": "billing-agent"}
        person.post(f"/memory/contexts/{made['id']}/entries", json=body).raise_for_status()
    return {}


def attach(person: ApiClient, session: str, texts: Sequence[str]) -> dict[str, Any]:
    files = {"file": ("offer.txt", "\n\n".join(texts).encode())}
    made = person.post(f"/chat/sessions/{session}/attachments", files=files).raise_for_status().json()
    return {"attachments": [made["id"]]}


QUESTION = "What does it say about my bank, the contract, a contact and the password? 银行、合同、联系人和密码呢？"


@pytest.mark.long
@pytest.mark.parametrize("channel", ["attachment", "context", "assistant"])
def test_what_others_say_is_not_taken_for_the_persons_words(
    person: ApiClient, model: ScriptedModel, channel: str
) -> None:
    """Here even plain statements wait: of the person's own, there is a question with some of the words."""
    texts = list_texts(channel)
    session, extra = person.new_session(), dict[str, Any]()
    if channel == "assistant":
        model.script(answer("\n\n".join(texts)))
        person.say(session, "你好").raise_for_status()
    else:
        extra = {"context": share, "attachment": attach}[channel](person, session, texts)
    model.script(propose(texts, response="\n\n".join(texts)))
    body = {"content": QUESTION, **extra}
    turn = person.post(f"/chat/sessions/{session}/messages", json=body).raise_for_status().json()
    assert {update["action"] for update in turn["memory_updates"]} == {"pending"}
    learn(model, texts)
    assert list_active(person) == set()
    check_prompt(person, session, texts)


def test_what_people_say_of_themselves_is_kept_at_once(person: ApiClient, model: ScriptedModel) -> None:
    session = person.new_session()
    model.script(answer("好的。"))
    person.say(session, "\n".join(INNOCENT)).raise_for_status()
    learn(model, INNOCENT)
    active = set(AtomicMemory.objects.filter(user=person.user, status="active").values_list("content", flat=True))
    assert set(INNOCENT) - active == set()


def test_the_set_is_as_large_and_as_mixed_as_it_says() -> None:
    rows = read("texts.jsonl")
    assert len(rows) >= 150
    assert len({row["id"] for row in rows}) == len({row["text"] for row in rows}) == len(rows)
    languages = Counter(row["language"] for row in rows)
    assert min(languages["en"], languages["zh"]) >= 70
    assert len({row["technique"] for row in rows}) >= 18
    assert len(INNOCENT) >= 30


@pytest.mark.parametrize("text", INNOCENT)
def test_no_innocent_text_is_taken_for_an_instruction(text: str) -> None:
    assert not is_instruction(text)


@pytest.mark.parametrize(
    "text",
    [
        "My flag is \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f and I cheer for it.",
        "👨‍👩‍👧 is my family, ❤️ them",
        "می‌خواهم is a word I learnt",
        "The part number is 4F2A-99C1-77DE-0B3A-5521-AA01.",
        "My commit was 9fceb02d0ae598e95dc970b74767f19372d61af8.",
        "My ID is 0b0a52d4-6e1c-4bb1-8d6a-2f4f6f3c7a11.",
        "I like Donaudampfschifffahrtsgesellschaften.",
        "The resistor has 10 kΩ, the film is 5 μm thick",
        "Меня зовут Иван, I work at VK",
        "My site is https://zh.example.org/wiki/%E8%8C%B6%E5%8F%B6",
    ],
)
def test_unusual_characters_are_no_disguise(text: str) -> None:
    assert not is_disguised(text)
    assert not is_instruction(text)


PIECES = ("1", "中", "a ", "%41", "](", "<a_", "you ", "YWJj", "41 ", "\u200b")


@pytest.mark.long
@pytest.mark.parametrize("piece", PIECES)
def test_the_guard_is_linear_in_the_length_of_a_text(piece: str) -> None:
    short, long = ((piece * length)[:length] for length in (4_000, 32_000))
    times = [(_time(short), _time(long)) for _attempt in range(5)]
    quickest = min(time for time, _ in times), min(time for _, time in times)
    assert quickest[1] < 24 * max(quickest[0], 0.005)  # 8 times the length; quadratic would be 64 times


def _time(text: str) -> float:
    begin = time.thread_time()
    is_instruction(text)
    return time.thread_time() - begin
