"""A very small model as the judge: what it babbles does not become memory (docs/models.md).

`WEAK_TURNS=40` holds all the turns; the suite holds a few. What is active afterwards is printed, to be read.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from apps.core.text.grounding import is_grounded
from apps.extraction import tasks
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.profile.models import UserProfile
from tests.support.http_server import ApiClient

pytestmark = [pytest.mark.llm, pytest.mark.long, pytest.mark.timeout(3_600)]

TURNS = int(os.environ.get("WEAK_TURNS", "2"))
# Turns that share an extraction call, as a backlog does.
TOGETHER = 2

SAID = (
    "My name is Mel and I live in Leeds.",
    "我对虾过敏，点外卖注意点。",
    "I had lots of fun at my cousin's last night!",
    "帮我写一首关于秋天的短诗。",
    "I work as a nurse at St James's.",
    "我养了一只猫，叫团子。",
    "Thanks, that helps a lot.",
    "明天下午三点要去看牙医。",
    "What is the capital of Australia?",
    "我不吃香菜。",
    "My sister Wren turns thirty in May.",
    "今天好累啊。",
    "I gave up coffee two weeks ago.",
    "我搬到杭州了。",
    "Can you fix this: 'I has no car'?",
    "请用简短一点的回答。",
    "I moved to York last week.",
    "我男朋友叫阿杰。",
    "We're planning a trip to Oslo in December.",
    "天气预报说要下雨。",
    "The Oslo trip is off.",
    "谢谢你！",
    "I play the cello in an orchestra.",
    "我在准备考研。",
    "lol ok",
    "推荐几部电影吧。",
    "My phone number is 07700 900123.",
    "我们公司在裁员，有点慌。",
    "I'm allergic to peanuts.",
    "用英语怎么说“随便”？",
    "My boss is called Catherine.",
    "我每周四去健身房。",
    "How do I cook rice?",
    "猫今天吐了。",
    "I sold my car on Sunday.",
    "我妈妈下个月来看我。",
    "Not any more, I sold it.",
    "我喜欢喝茶。",
    "Do you remember my name?",
    "晚安。",
)


@pytest.fixture(autouse=True)
def _model(llama_url: str, settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.CHAT_MODEL = llama_url, "", ""
    settings.CHAT_MAX_TOKENS, settings.BACKGROUND_MAX_TOKENS = (200, 400) if TURNS > 2 else (60, 100)


@pytest.mark.spec("A3", "L2", "U3")
def test_what_it_babbles_is_not_remembered(alice: ApiClient) -> None:
    alice.timeout = 600
    session, longest = alice.new_session(), 0.0
    for number, message in enumerate(SAID[:TURNS], start=1):
        began = time.monotonic()
        alice.say(session, message)
        longest = max(longest, time.monotonic() - began)
        if number % TOGETHER == 0:
            tasks.extract.apply().get()
    said = "\n".join(SAID[:TURNS])
    texts = []
    for row in LongTermMemory.objects.filter(user=alice.user):
        print("long-term", row.status, row.key, row.value)
        texts += [row.key, str(row.value)] if row.status == "active" else []
    for memory in AtomicMemory.objects.filter(user=alice.user):
        print("atomic", memory.status, memory.content, (memory.proposal or {}).get("reason"))
        texts += [memory.content] if memory.status == "active" else []
    for profile in UserProfile.objects.filter(user=alice.user, version__gt=0):
        print("profile", profile.reply_style, profile.language_habits, profile.background, profile.sections)
        texts += filter(None, [profile.reply_style, profile.language_habits, profile.background])
    print(f"longest turn: {longest:.0f} s")
    assert [text for text in texts if not is_grounded(text, said=said)] == []
