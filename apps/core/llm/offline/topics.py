"""What a message is about: a few of its own words, and details of the conversation worth keeping while it lasts."""

from __future__ import annotations

from collections.abc import Iterable

from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.lexicon import load_lexicons
from apps.core.llm.offline.phrases import Phrases
from apps.core.text.keywords import extract_keywords

_WORDS = 2


def drop_vague(keywords: Iterable[str]) -> set[str]:
    """`keywords` without those that name nothing in particular (今天, know): sharing one of them means little."""
    return {word for word in keywords if not any(lexicon.vague.fullmatch(word) for lexicon in load_lexicons())}


def read_topic(text: str, phrases: Phrases, *, feelings: Iterable[str]) -> str | None:
    """A short phrase naming what `text` is about, in its own words; None for greetings, thanks and the like.

    The words of `feelings` say how something is, not what.
    """
    folded = fold_in_place(text)
    bare = folded.strip(" \n\t,.!?~。…")
    if any(phrases.hears(cue, bare) for cue in ("greeting", "thanks", "farewell", "who")):
        return None
    keywords = extract_keywords(folded, limit=_WORDS + 4)
    felt = fold_in_place(" ".join(feelings))
    telling = {word for word in drop_vague(keywords) if word not in felt and len(word) > 1 and not _is_time(word)}
    keywords = [word for word in keywords if word in telling][:_WORDS]
    if not keywords:
        return None
    start = folded.find(keywords[0])
    together = folded.find("".join(keywords)) if phrases.language == "zh" else folded.find(" ".join(keywords))
    if together >= 0:
        joined = "".join(keywords) if phrases.language == "zh" else " ".join(keywords)
        return text[together : together + len(joined)]
    return text[start : start + len(keywords[0])] if start >= 0 else keywords[0]


def _is_time(word: str) -> bool:
    return any(lexicon.words["future"].fullmatch(word) for lexicon in load_lexicons())


def read_variables(text: str) -> dict[str, str]:
    """Evident details such as where and when a journey goes, by name, in the language they were said in."""
    for lexicon in load_lexicons():
        found = {name: match for name, pattern in lexicon.variables.items() if (match := pattern.search(text))}
        if found:
            return {name: match.group("value") for name, match in found.items()}
    return {}
