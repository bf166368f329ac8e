"""How the user feels, from a small lexicon with negation and intensity, and what they seek, from cues (E1)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from apps.core.llm.offline.language import LANGUAGES, fold_in_place

_SEEKING_ORDER = ("validation_seeking", "help_seeking", "info_seeking")


@dataclass(frozen=True, slots=True)
class Emotion:
    """``primary``: a name of E1. ``confidence``: 0..1. ``indicators``: the words it was read from, as written."""

    primary: str
    confidence: float
    indicators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Lexicon:
    words: re.Pattern[str]
    emotions: Mapping[str, str]
    when_negated: Mapping[str, str]
    negation: tuple[re.Pattern[str], ...]
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    cues: Mapping[str, tuple[re.Pattern[str], ...]]


def read_emotion(text: str) -> Emotion:
    """The emotion of `text`, a message of the user.

    A feeling that is named outweighs what is sought: "I'm so anxious, what should I do" is anxious. "Thanks" alone is
    gratitude, but before a question it is manners.
    """
    folded = fold_in_place(text)
    lexicon = _load_lexicon()
    weights: dict[str, float] = {}
    indicators: dict[str, list[str]] = {}
    for found in lexicon.words.finditer(folded):
        emotion = lexicon.emotions[found.group()]
        before = folded[max(0, found.start() - 24) : found.start()]
        around = before[-12:] + folded[found.end() : found.end() + 3]
        if any(negation.search(before) for negation in lexicon.negation):
            emotion = lexicon.when_negated.get(emotion, "")
            if not emotion:
                continue
        weight = 1.25 if lexicon.strong.search(around) else 0.75 if lexicon.weak.search(around) else 1.0
        weights[emotion] = weights.get(emotion, 0.0) + weight
        indicators.setdefault(emotion, []).append(text[slice(*found.span())])
    sought = _find_sought(text, folded, lexicon)
    if sought and set(weights) <= {"grateful", "curious"}:
        return sought
    if not weights:
        return Emotion("neutral", 0.6, ())
    primary = max(weights, key=lambda emotion: weights[emotion])
    # Mixed feelings are less certain, several words for one feeling are more so.
    share = weights[primary] / sum(weights.values())
    confidence = min(0.95, (0.55 + 0.2 * weights[primary]) * (0.6 + 0.4 * share))
    return Emotion(primary, round(confidence, 2), tuple(dict.fromkeys(indicators[primary])))


def _find_sought(text: str, folded: str, lexicon: _Lexicon) -> Emotion | None:
    for name in _SEEKING_ORDER:
        spans = [found.span() for cue in lexicon.cues[name] if (found := cue.search(folded))]
        if spans:
            return Emotion(name, min(0.9, 0.6 + 0.1 * len(spans)), tuple(text[slice(*span)] for span in spans))
    return None


@lru_cache(maxsize=1)
def _load_lexicon() -> _Lexicon:
    table = tomllib.loads(files(__package__).joinpath("data/emotions.toml").read_text(encoding="utf-8"))
    emotions = {
        word: emotion for emotion, row in table["words"].items() for language in LANGUAGES for word in row[language]
    }
    chinese = [word for word in emotions if not word[0].isascii()]
    english = [word for word in emotions if word[0].isascii()]
    spelled = [*sorted(chinese, key=len, reverse=True), rf"\b(?:{'|'.join(sorted(english, key=len, reverse=True))})\b"]
    return _Lexicon(
        words=re.compile("|".join(spelled)),
        emotions=emotions,
        when_negated={name: row["negated"] for name, row in table["words"].items() if "negated" in row},
        negation=tuple(re.compile(table["negation"][language]) for language in LANGUAGES),
        strong=re.compile(table["intensity"]["strong"]),
        weak=re.compile(table["intensity"]["weak"]),
        cues={
            name: tuple(re.compile(cue) for language in LANGUAGES for cue in row[language])
            for name, row in table["cues"].items()
        },
    )
