"""A memory's key and value as one text, and the words that keywords are compared with. Pure functions, no Django."""

from __future__ import annotations

from apps.core.text.attributes import find_attribute
from apps.core.text.clean import json_text
from apps.core.text.fold import fold
from apps.core.text.keywords import match_words
from apps.core.text.segment import drop_pronouns, holds_chinese

SEGMENTED_CHARACTERS = 2_000
"""How much of a memory is cut into words: what stands further on counts as inside a longer word, in bounded time."""


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
