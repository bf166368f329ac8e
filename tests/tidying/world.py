"""A person with 200 memories that want tidying, and a model that knows what should come of them.

The model judges only what it is shown in one call, by the numbers there, as a real one would.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from apps.accounts.models import User
from apps.core.llm.types import ModelRequest, unescape
from apps.memory.changes.records import Origin, changed_by
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.types import AtomicDraft

_DUPLICATES = (
    (
        "The user is allergic to {}.",
        "The user has an allergy to {}.",
        "The user must not eat {}, being allergic to it.",
    ),
    ("用户对{}过敏。", "用户有{}过敏。", "用户吃{}会过敏。"),
    ("The user plays the {}.", "The user can play the {}.", "Playing the {} is a hobby of the user's."),
    ("用户会弹{}。", "弹{}是用户的爱好。", "用户平时弹{}。"),
    ("The user has been to {}.", "The user has travelled to {}.", "The user once visited {}."),
)
_THINGS = (
    ("peanuts", "shrimp", "penicillin", "kiwi", "latex", "sesame"),
    ("花生", "虾", "青霉素", "猕猴桃", "乳胶", "芝麻"),
    ("cello", "oboe", "piano", "trumpet", "harp", "banjo"),
    ("钢琴", "吉他", "古筝", "琵琶", "尤克里里", "扬琴"),
    ("Iceland", "Peru", "Japan", "Kenya", "Norway", "Vietnam"),
)
_CHANGES = (
    ("The user lives in {}.", ("Leeds", "York")),
    ("The user works for {}.", ("Siemens", "Bosch")),
    ("用户在{}上班。", ("蚂蚁集团", "小米")),
    ("用户住在{}。", ("杭州", "成都")),
    ("The user's phone is a {}.", ("Pixel 6", "Pixel 9")),
    ("The user drives a {}.", ("Golf", "Volvo")),
    ("用户的手机是{}。", ("华为Mate40", "小米15")),
    ("The user's boss is called {}.", ("Marc", "Olivia")),
    ("用户的领导叫{}。", ("王强", "李娜")),
    ("The user weighs {} kilos.", ("82", "76")),
    ("The user's favourite cafe is {}.", ("Origo", "Kaffa")),
    ("用户最喜欢的餐厅是{}。", ("外婆家", "海底捞")),
    ("The user's gym is {}.", ("FitOne", "Holmes")),
    ("The user's landlord is {}.", ("Mr Pratt", "Ms Doyle")),
    ("用户的班主任是{}。", ("张老师", "陈老师")),
    ("The user's internet provider is {}.", ("Sky", "Zen")),
    ("The user reads {} on the train.", ("Dune", "Emma")),
    ("用户每天坐{}上班。", ("地铁", "公交")),
    ("The user's dentist is Dr {}.", ("Novak", "Amari")),
    ("The user's rent is {} pounds.", ("900", "1100")),
)
_PLANS = (
    "The user will see the dentist about tooth {}.",
    "The user plans to hike trail {} with Ann.",
    "用户打算去看第{}场音乐会。",
    "The user is going to hand in report {}.",
    "用户要参加第{}次面试。",
    "The user will meet client number {} for lunch.",
)
_HABITS = (
    ("The user went running along the canal on a {}.", "The user often runs along the canal."),
    ("The user ordered ramen for dinner on {}.", "The user likes ramen for dinner."),
    ("用户{}去游泳馆游了泳。", "用户常去游泳。"),
    ("The user slept badly after coffee on {}.", "The user sleeps badly after coffee."),
    ("用户{}给妈妈打了电话。", "用户经常给妈妈打电话。"),
)
_DAYS = ("Monday", "Tuesday", "Friday", "Sunday")
_DAYS_ZH = ("周一", "周三", "周五", "周日")
_PLAIN = (
    "The user's sister Nora is a vet.", "用户的猫叫豆豆。", "The user takes sertraline 50 mg.", "用户是素食者。",
    "The user was born on 3 May 1991.", "用户的女儿叫小满。", "The user studied physics in Graz.", "用户会说西班牙语。",
    "The user insures with Allianz.", "用户不喝酒。", "The user collects stamps of birds.", "用户的血型是B型。",
    "The user's grandfather was a miner.", "用户怕打雷。", "The user prefers window seats.", "用户的老家在兰州。",
    "The user keeps two beehives.", "用户左手写字。", "The user writes with green ink.", "用户的邻居老周修钟表。",
)  # fmt: skip


@dataclass
class World:
    """What a person has, and the truth about it. By text: what each is a duplicate of, ends by, or shows."""

    same: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    past: set[str] = field(default_factory=set)
    shows: dict[str, str] = field(default_factory=dict)
    drafts: list[AtomicDraft] = field(default_factory=list)

    @property
    def facts(self) -> set[str]:
        """What has to be remembered still: each by one of its wordings."""
        told = {draft.content for draft in self.drafts}
        return {self.same.get(text, text) for text in told - self.replaced.keys() - self.past}

    def tells(self, text: str) -> str:
        """Return the fact that a text tells."""
        return self.same.get(text, text)


def make_world(*, now: datetime, share: float = 1.0) -> World:
    """Return 200 memories: 30 facts in 3 wordings, 20 that replaced 20, 30 past plans, 20 for 5 patterns, 20 more.

    `share`: less of everything.
    """
    world, begin = World(), now - timedelta(days=120)

    def add(text: str, *, day: float, **fields: Any) -> None:
        world.drafts.append(AtomicDraft(content=text, timestamp=begin + timedelta(days=day), **fields))

    facts = [(wordings, thing) for wordings, things in zip(_DUPLICATES, _THINGS, strict=True) for thing in things]
    for number, (wordings, thing) in enumerate(_take(facts, share)):
        for place, wording in enumerate(wordings):
            add(wording.format(thing), day=number + place * 7)
            world.same[wording.format(thing)] = wordings[0].format(thing)
    for number, (sentence, (before, after)) in enumerate(_take(list(_CHANGES), share)):
        add(sentence.format(before), day=number)
        add(sentence.format(after), day=40 + number)
        world.replaced[sentence.format(before)] = sentence.format(after)
    for number in range(round(30 * share)):
        text, day = _PLANS[number % len(_PLANS)].format(number + 1), begin + timedelta(days=20 + number)
        add(text, day=number, event_start=day, event_end=day + timedelta(hours=1))
        world.past.add(text)
    for number, (sentence, pattern) in enumerate(_take(list(_HABITS), share)):
        for place, name in enumerate(_DAYS_ZH if sentence.startswith("用户") else _DAYS):
            add(sentence.format(name), day=50 + number + place * 6)
            world.shows[sentence.format(name)] = pattern
    for number, text in enumerate(_take(list(_PLAIN), share)):
        add(text, day=number)
    return world


def _take(rows: list[Any], share: float) -> list[Any]:
    return rows[: max(1, round(len(rows) * share))]


def remember(user: User, world: World, *, now: datetime) -> None:
    """Let a person have all of it, as if it had been extracted from what they said."""
    with changed_by(origin=Origin.EXTRACTION, actor=None):
        create_atomic_memories(user=user, drafts=world.drafts, now=now)


class CapableModel:
    """Proposes what the world wants, as far as it sees it; keeps what it was asked."""

    name = "capable"

    def __init__(self, world: World) -> None:
        self._world = world
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        changes = list(self.judge(request.messages[-1].content))
        yield json.dumps({"changes": changes, "profile": []}, ensure_ascii=False)

    def judge(self, prompt: str) -> Iterator[dict[str, Any]]:
        """Yield the changes for the memories in a prompt."""
        shown = read_shown(prompt)
        world, numbers = self._world, {text: number for number, text in shown.items()}
        said: defaultdict[str, list[int]] = defaultdict(list)
        shows: defaultdict[str, list[int]] = defaultdict(list)
        for number, text in shown.items():
            if text in world.same:
                said[world.same[text]].append(number)
            if text in world.shows:
                shows[world.shows[text]].append(number)
            if (by := numbers.get(world.replaced.get(text, ""))) is not None:
                yield {"action": "replace", "memories": [number], "keep": by, "reason": f"No longer so: {text}"}
            if text in world.past:
                yield {"action": "end", "memories": [number], "reason": "Its day is past."}
        for same in said.values():
            if len(same) > 1:
                yield {"action": "merge", "memories": same, "keep": same[-1], "reason": "They say the same."}
        for pattern, examples in shows.items():
            if len(examples) >= 3:
                yield {"action": "pattern", "memories": examples, "text": pattern, "confidence": 0.8}


def read_shown(prompt: str) -> dict[int, str]:
    """Return the memories that a call shows, by number."""
    block = re.search(r"<memories>\n(.*?)\n</memories>", prompt, re.DOTALL)
    rows = [json.loads(unescape(line)) for line in block[1].splitlines()]
    return {row["number"]: row["text"] for row in rows}
