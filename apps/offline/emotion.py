"""How the user feels, from a small lexicon with negation and intensity, and what they seek, from cues (E1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from apps.offline.language import LANGUAGES, compile_rule, fold_in_place, join_words, load_table

_SEEKING_ORDER = ("validation_seeking", "help_seeking", "info_seeking")


@dataclass(frozen=True, slots=True)
class Emotion:
    """``primary``: a name of E1. ``confidence``: 0..1. ``indicators``: the words it was read from, as written."""

    primary: str
    confidence: float
    indicators: tuple[str, ...]


def read_emotion(text: str) -> Emotion:
    """The emotion of `text`: a named feeling outweighs what is sought, but thanks before a question are manners."""
    folded = fold_in_place(text)
    table = load_table("emotions")
    emotions = {word: name for name, row in table["words"].items() for each in LANGUAGES for word in row[each]}
    weights: dict[str, float] = {}
    indicators: dict[str, list[str]] = {}
    for found in _words().finditer(folded):
        emotion = emotions[found.group()]
        before = folded[max(0, found.start() - 24) : found.start()]
        around = before[-12:] + folded[found.end() : found.end() + 3]
        if any(compile_rule(table["negation"][each]).search(before) for each in LANGUAGES):
            emotion = table["words"][emotion].get("negated", "")
            if not emotion:
                continue
        strong, weak = (compile_rule(table["intensity"][name]) for name in ("strong", "weak"))
        weight = 1.25 if strong.search(around) else 0.75 if weak.search(around) else 1.0
        weights[emotion] = weights.get(emotion, 0.0) + weight
        indicators.setdefault(emotion, []).append(text[slice(*found.span())])
    sought = _find_sought(text, folded)
    if sought and set(weights) <= {"grateful", "curious"}:
        return sought
    if not weights:
        return Emotion("neutral", 0.6, ())
    primary = max(weights, key=lambda emotion: weights[emotion])
    # Mixed feelings are less certain, several words for one feeling are more so.
    share = weights[primary] / sum(weights.values())
    confidence = min(0.95, (0.55 + 0.2 * weights[primary]) * (0.6 + 0.4 * share))
    return Emotion(primary, round(confidence, 2), tuple(dict.fromkeys(indicators[primary])))


def _find_sought(text: str, folded: str) -> Emotion | None:
    for name in _SEEKING_ORDER:
        cues = (cue for each in LANGUAGES for cue in load_table("emotions")["cues"][name][each])
        spans = [found.span() for cue in cues if (found := compile_rule(cue).search(folded))]
        if spans:
            return Emotion(name, min(0.9, 0.6 + 0.1 * len(spans)), tuple(text[slice(*span)] for span in spans))
    return None


@cache
def _words() -> re.Pattern[str]:
    rows = load_table("emotions")["words"].values()
    return re.compile("|".join(join_words([word for row in rows for word in row[each]]) for each in LANGUAGES))
