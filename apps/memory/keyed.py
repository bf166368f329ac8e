"""The rules of keyed values (L3): what a proposal does to what stands under its key, and which keys name the same.

Pure: no Django, no clock.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Any
from uuid import UUID

from apps.core.text.attributes import find_attribute
from apps.core.text.clean import json_text
from apps.core.text.fold import fold, normalize_key, normalize_value, spell_value
from apps.core.text.keywords import match_words
from apps.core.text.segment import drop_pronouns, holds_chinese


class Mode(StrEnum):
    """What a proposed value does to the value its key has (L3)."""

    REPLACE = "replace"
    ADD = "add"
    REMOVE = "remove"


class Action(StrEnum):
    """What became of an entry. IGNORED is never reported to a client."""

    CREATED = "created"
    SUPERSEDED = "superseded"
    REFRESHED = "refreshed"
    PENDING = "pending"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class ProposedEntry:
    """One entry of a model's answer, as it came: nothing is checked yet (E5).

    A missing `source` means user_stated; a missing or unknown `mode` means replace. `until`: the words that say until
    when it holds (D3). `sensitive`: the categories that the model marks it with (D4).
    """

    category: object
    key: object
    value: object
    source: object = None
    confidence: object = None
    mode: object = None
    until: object = None
    sensitive: object = None


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """What an entry did (L2). `superseded` with the value `[]` and the old ID: its last item was taken away."""

    id: UUID
    action: Action
    category: str
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion did: how many of the memories asked for are gone, and which IDs were not there."""

    deleted: int
    missing: tuple[UUID, ...] = ()


# What a proposal says, to find it among pending and rejected ones: whether it takes away, and the normalised value.
Claim = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and the value the memory then has: the proposed one while PENDING, None when nothing is left."""

    action: Action
    value: Any = None


def list_items(value: Any) -> list[Any]:
    """The items of a value: of a list its own, anything else is one item."""
    return value if isinstance(value, list) else [value]


def list_leaves(value: Any) -> list[str]:
    """Return each text and number in a value, as a text; true, false and null say nothing."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [leaf for part in parts for leaf in list_leaves(part)]
    return [json_text(value)]


def apply_mode(*, mode: Mode, current: Any, proposed: Any) -> Any:
    """Return the value a key has after `proposed`; None (as `current`, too) means that there is none.

    Adding always makes a list. Items are compared in normalised form, so nothing is in a list twice; one that is
    written otherwise takes the place of its older spelling. Taking items away leaves the rest in order, or None when
    none is left. An unchanged value comes back as it is.
    """
    if mode is Mode.REPLACE:
        return proposed
    kept = [] if current is None else list_items(current)
    named: dict[str, Any] = {}
    for item in list_items(proposed):
        named.setdefault(normalize_value(item), item)
    if mode is Mode.ADD:
        newer = [named.pop(normalize_value(item), item) for item in kept]
        spelled = [old if spell_value(old) == spell_value(new) else new for old, new in zip(kept, newer, strict=True)]
        return [*spelled, *named.values()] if named or spelled != kept else current
    rest = [item for item in kept if normalize_value(item) not in named]
    return current if len(rest) == len(kept) else rest or None


def list_claims(*, mode: Mode, value: Any) -> set[Claim]:
    """Return what a stored proposal claims: its whole value and, where it adds or takes away, each item."""
    removes = mode is Mode.REMOVE
    items = [] if mode is Mode.REPLACE else list_items(value)
    return {(removes, normalize_value(part)) for part in (value, *items)}


def drop_claims(*, mode: Mode, value: Any, claims: Set[Claim]) -> Any:
    """Return what of `value` is not among `claims`, None when nothing is: single items where it adds or takes away."""
    removes = mode is Mode.REMOVE
    if (removes, normalize_value(value)) in claims:
        return None
    if mode is Mode.REPLACE:
        return value
    items = list_items(value)
    kept = [item for item in items if (removes, normalize_value(item)) not in claims]
    return value if len(kept) == len(items) else kept or None


def decide(
    *,
    mode: Mode,
    value: Any,
    current: Any,
    accept: bool,
    pending: Set[Claim] = frozenset(),
    rejected: Set[Claim] = frozenset(),
) -> Decision:
    """Decide about a proposed value for a key whose active value is `current` (None: it has none).

    Rejected: ignored (L1). Already so: refreshed, in the newer spelling where it is accepted, or ignored where it takes
    away what is not there. Not to be accepted by itself: pending, once. Else created or superseded.
    """
    value = drop_claims(mode=mode, value=value, claims=rejected)
    if value is None:
        return Decision(Action.IGNORED)
    result = apply_mode(mode=mode, current=current, proposed=value)
    if current is None and result is None:
        return Decision(Action.IGNORED)
    if current is not None and result is not None and normalize_value(result) == normalize_value(current):
        if mode is Mode.REMOVE:
            return Decision(Action.IGNORED, current)
        # Folding takes some names for one, such as 王汎森 and 王泛森: what was said last is shown, whichever it is.
        respelled = accept and spell_value(result) != spell_value(current)
        return Decision(Action.REFRESHED, result if respelled else current)
    if not accept:
        value = drop_claims(mode=mode, value=value, claims=pending)
        return Decision(Action.IGNORED) if value is None else Decision(Action.PENDING, value)
    return Decision(Action.CREATED if current is None else Action.SUPERSEDED, result)


@dataclass(frozen=True, slots=True)
class Version:
    """A value that a key had, and when it was said."""

    value: Any
    said_at: datetime


def drop_stale(*, mode: Mode, value: Any, said_at: datetime, versions: Sequence[Version]) -> Any:
    """Return what is left of a value to add or remove that was said at `said_at`; None when nothing is.

    `versions`: the values of the key, in the order in which they were said, the one that holds last: items that it has,
    too, come back in its spelling, the newer one.
    """
    before = frozenset[str]()
    stale: set[str] = set()
    contents = [(_forms(version.value), version.said_at) for version in versions]
    for (earlier, earlier_at), (later, later_at) in pairwise([(before, said_at), *contents]):
        # Of two versions of the same time the second was made by a message that came late, like this one.
        if later_at > max(said_at, earlier_at):
            stale |= earlier - later if mode is Mode.ADD else later - earlier
    items = list_items(value)
    held = {normalize_value(item): item for item in list_items(versions[-1].value)}
    kept = [held.get(form, item) for item in items if (form := normalize_value(item)) not in stale]
    return kept if kept and isinstance(value, list) else next(iter(kept), None)


def _forms(value: Any) -> frozenset[str]:
    return frozenset(normalize_value(item) for item in list_items(value))


_SYNONYMS = (
    ("name", "full name", "姓名", "名字"),
    ("nickname", "昵称", "小名"),
    ("age", "年龄"),
    ("gender", "sex", "性别"),
    ("birthday", "date of birth", "birth date", "生日", "出生日期"),
    ("home", "residence", "place of residence", "lives in", "居住地", "住处", "现居地"),
    ("city", "城市", "所在城市", "居住城市"),
    ("address", "home address", "地址", "住址", "家庭住址"),
    ("hometown", "家乡", "老家", "籍贯"),
    ("nationality", "国籍"),
    ("job", "occupation", "profession", "职业", "工作"),
    ("employer", "company", "workplace", "公司", "工作单位"),
    ("school", "学校"),
    ("major", "专业"),
    ("phone", "phone number", "mobile", "mobile number", "电话", "手机", "手机号", "手机号码", "电话号码"),
    ("email", "email address", "邮箱", "电子邮箱"),
    ("partner", "伴侣", "对象"),
    ("marital status", "婚姻状况"),
    ("children", "kids", "孩子", "子女"),
    ("pets", "pet", "宠物"),
    ("allergies", "allergy", "allergic to", "过敏", "过敏史", "过敏原", "过敏源"),
    ("diet", "饮食", "饮食习惯"),
    ("blood type", "血型"),
    ("height", "身高"),
    ("weight", "体重"),
    ("shoe size", "鞋码"),
    ("languages", "语言", "会的语言"),
    ("hobbies", "hobby", "interests", "爱好", "兴趣", "兴趣爱好"),
    ("likes", "喜欢", "喜欢的事物"),
    ("dislikes", "不喜欢", "不喜欢的事物", "讨厌"),
    ("favorite color", "favourite colour", "favorite colour", "favourite color", "喜欢的颜色", "最喜欢的颜色"),
    ("favorite food", "favourite food", "喜欢的食物", "最喜欢的食物"),
    ("favorite drink", "favourite drink", "喜欢的饮料", "最喜欢的饮料"),
    ("favorite movie", "favourite film", "favorite film", "favourite movie", "喜欢的电影", "最喜欢的电影"),
    ("favorite book", "favourite book", "喜欢的书", "最喜欢的书"),
    ("favorite music", "favourite music", "喜欢的音乐", "最喜欢的音乐"),
    ("goals", "goal", "目标"),
    ("car", "车", "汽车"),
)


@cache
def _list_groups() -> dict[str, tuple[str, ...]]:
    """The group of each normalised key. Not made on import: normalising Chinese loads a dictionary, for a second."""
    groups = (tuple(dict.fromkeys(map(normalize_key, words))) for words in _SYNONYMS)
    return {key: group for group in groups for key in group}


def list_same_keys(normalized_key: str) -> list[str]:
    """Return the other normalised keys that name the same attribute."""
    return [key for key in _list_groups().get(normalized_key, ()) if key != normalized_key]


# How much of a memory is cut into words: what stands further on counts as inside a longer word, in bounded time.
SEGMENTED_CHARACTERS = 2_000


def join_text(*, key: str, value: object) -> str:
    """The text of a memory: its key, and in the next line what its JSON value says."""
    return f"{key}\n{json_text(value)}"


def add_question_words(text: str, *, key: str) -> str:
    """Return a memory's text with the words that its attribute is asked for with, by which it is found, too (K3)."""
    attribute = find_attribute(key)
    return text if attribute is None else "\n".join([text, *attribute.words])


def list_words(text: str) -> list[str]:
    """The distinct words that a memory's text begins with, as `extract_keywords` makes those of a message (K4).

    Segmentation takes several times as long as all the rest of scoring: it is done once, when a memory is written.
    """
    return list(dict.fromkeys(match_words(fold(text)[:SEGMENTED_CHARACTERS])))


def phrase_memory(*, key: str, value: object) -> str:
    """A memory as people ask about it and say it, which is what an embedder compares with a message (K9).

    "我的工作是什么？我的工作是老师。" is near to 我是做什么的, which shares no word with it; "工作: 老师" is not, as
    models are trained on sentences. A known attribute has its own question. docs/retrieval.md has the measurement.
    """
    attribute = find_attribute(key)
    name = " ".join(drop_pronouns(fold(key)).replace("_", " ").split()) or key
    said = json_text(value)
    chinese = holds_chinese(name)
    asked = f"我的{name}是什么？" if chinese else f"What is my {name}? "
    if attribute is not None:
        asked = attribute.phrase_question(chinese=chinese) + ("" if chinese else " ")
    return f"{asked}我的{name}是{said}。" if chinese else f"{asked}My {name} is {said}."
