"""Checking and cleaning what a pattern took for a value: the part that keeps junk out."""

from __future__ import annotations

import re

from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.lexicon import Concept, Lexicon
from apps.core.text.places import is_place_name

_LONGEST = {"zh": 24, "en": 60}
_EDGE = ' \t,.。!?;:…~、"“”'
_NAME_SPLIT = re.compile(r",|\s+(?:and|but|from|by|in|at|who|because|since)\s|\s-\s")
_REASON = re.compile(
    r",?\s+(?:because|since|when|while|where|which|who|whose|such as|including|as (?=it|they|i|these|this|we|you)"
    r"|so|especially when)\b|,\s+(?:like|especially when|as|for)\b",
    re.IGNORECASE,
)
# 在海滩、山脉和湖边拍照 and "shooting near beaches, mountains and lakes" are each one thing done, not several.
_ONE_PHRASE = re.compile(r"[在跟和与用给把从]|\w+ing\s+\w+[^,]*,(?!\s*especially\b|.*\w+ing\b)", re.IGNORECASE)
_COUNTED = re.compile(
    r"\s*(?:(?:two|three|four|five|six|seven|several|some|\d+|a couple of)\s+"
    r"|[一两二三四五六七八九十几0-9]+[只条个头匹缸]?)",
    re.IGNORECASE,
)
"""How many of them there are."""
_TOGETHER = re.compile(r"(?<=[\u3400-\u9fff])(?=[一两二三四五六七八九十几][只条个头匹缸]?[\u3400-\u9fff])")
_CHINESE_NAME = re.compile(r"[\u3400-\u9fff·]{1,6}|[\u3400-\u9fff]{0,3}[a-z][a-z .’-]{0,24}")
_CHINESE_NAME_BLOCKED = re.compile(r"[的了他她它我你您什么吗呢谁]|外卖|不|车$|^(?:人|叫|上|来|起|醒|做)")
_CHINESE_INTRODUCTION = re.compile(r"[小老阿][\u3400-\u9fff]{1,2}")
_ENGLISH_NAME = re.compile(r"[^\W\d_][\w.’-]*(?: [^\W\d_][\w.’-]*){0,3}")


def read_values(raw: str, concept: Concept, lexicon: Lexicon) -> tuple[str, ...]:
    """The values in `raw` that `concept` can have, in the user's wording; empty when it is none after all."""
    match concept.value:
        case "name":
            cleaned = [_read_name(raw, lexicon)]
        case "person":
            cleaned = [_read_introduction(raw, lexicon)]
        case "phrase":
            # Time words and negations are part of what is said.
            phrase = raw.strip(_EDGE)
            readable = 0 < len(phrase) <= _LONGEST[lexicon.language]
            return (phrase,) if readable and not lexicon.pointing.search(fold_in_place(phrase)) else ()
        case "member":
            cleaned = [clean_value(_drop_count(part), lexicon) for part in _split_list(_apart(raw), lexicon)]
        case kind if concept.mode == "add":
            cleaned = [clean_value(part, lexicon) for part in _split_list(raw, lexicon)]
            # "I love how it looks and the idea": what follows a clause is part of it.
            if not cleaned[0] or (kind == "things" and lexicon.at_hand.search(fold_in_place(raw))):
                return ()
        case kind:
            cleaned = [clean_value(_cut_at_comma(raw, keep_names=kind in ("place", "employer")), lexicon)]
    cleaned = [value.lower() if lexicon.words["color"].fullmatch(fold_in_place(value)) else value for value in cleaned]
    return tuple(value for value in cleaned if value and _fits(value, concept.value, lexicon))


def clean_value(raw: str, lexicon: Lexicon) -> str:
    """`raw` without articles, particles and trailing adjuncts; "" when nothing sayable is left."""
    value = raw.strip(_EDGE)
    for _ in range(4):
        shorter = value
        if found := lexicon.leading.match(fold_in_place(shorter)):
            shorter = shorter[found.end() :]
        shorter = _drop_adjuncts(shorter, lexicon)
        if shorter == value:
            break
        value = shorter
    if len(value) > _LONGEST[lexicon.language] or lexicon.empty_value.search(fold_in_place(value)):
        return ""
    return value


def _drop_adjuncts(value: str, lexicon: Lexicon) -> str:
    found = lexicon.trailing.search(fold_in_place(value))
    return (value[: found.start()] if found and found.start() > 0 else value).strip(_EDGE)


def _split_list(raw: str, lexicon: Lexicon) -> list[str]:
    raw = _drop_adjuncts(_REASON.split(raw, maxsplit=1)[0], lexicon)
    if _ONE_PHRASE.match(raw):
        return [raw]
    folded = fold_in_place(raw)
    parts, start = [], 0
    for separator in lexicon.list_separator.finditer(folded):
        if folded[start : separator.start()].strip() and folded[separator.end() :].strip():
            parts.append(raw[start : separator.start()])
            start = separator.end()
    return [*parts, raw[start:]]


def _drop_count(raw: str) -> str:
    counted = _COUNTED.match(raw)
    return raw[counted.end() :] if counted else raw


def _apart(raw: str) -> str:
    """An enumeration that needs no conjunction, 一猫一狗, with one."""
    return _TOGETHER.sub("、", raw)


def _cut_at_comma(raw: str, *, keep_names: bool) -> str:
    # "Paris, France" and "March 3rd, 1990" are one value, "Paris, which I love" is not.
    if keep_names and re.fullmatch(r"[^,，]+[,，]\s*(?:[A-Z][\w.]*\s?)+", raw):
        return raw
    return re.split(r"[,，](?!\s*\d)", raw, maxsplit=1)[0]


def _read_name(raw: str, lexicon: Lexicon) -> str:
    name = _NAME_SPLIT.split(raw.strip(_EDGE), maxsplit=1)[0]
    name = clean_value(name, lexicon)
    folded = fold_in_place(name)
    if re.search(r"[\u3400-\u9fff]", name):
        named = _CHINESE_NAME.fullmatch(folded) and not _CHINESE_NAME_BLOCKED.search(folded)
    else:
        words = name.split()
        named = bool(_ENGLISH_NAME.fullmatch(name)) and (len(words) == 1 or all(word[0].isupper() for word in words))
        blocked = lexicon.words.get("not_a_name")
        named = named and not (blocked and blocked.fullmatch(folded))
    return name if named else ""


def _read_introduction(raw: str, lexicon: Lexicon) -> str:
    # "I'm …" introduces a person far less often than it says how they are: only what looks like a name counts.
    name = _NAME_SPLIT.split(raw.strip(_EDGE), maxsplit=1)[0].strip(_EDGE)
    if lexicon.language == "en":
        name = _drop_adjuncts(name, lexicon)  # "I'm Clara Novak now"
        words = name.split()
        capitalised = 1 <= len(words) <= 3 and all(word[0].isupper() and word[1:].islower() for word in words)
        blocked = any(lexicon.words["not_a_name"].fullmatch(word) for word in fold_in_place(name).split())
        return name if capitalised and not blocked and _ENGLISH_NAME.fullmatch(name) else ""
    folded = fold_in_place(name)
    full_name = 2 <= len(folded) <= 3 and lexicon.words["surname"].pattern.find(folded[0]) >= 0
    if (full_name and not lexicon.words["name_blocked"].match(folded[-1])) or _CHINESE_INTRODUCTION.fullmatch(folded):
        described = _CHINESE_NAME_BLOCKED.search(folded) or lexicon.words["not_a_name"].fullmatch(folded)
        return "" if described else name
    return ""


def _fits(value: str, kind: str, lexicon: Lexicon) -> bool:
    folded = fold_in_place(value)
    match kind:
        case "color" | "programming":
            return bool(lexicon.words[kind].fullmatch(folded))
        case "things":
            return not lexicon.pointing.search(folded) and not lexicon.relation.fullmatch(folded)
        case "place":
            return not lexicon.words["not_a_place"].fullmatch(folded)
        case "employer":
            return not lexicon.words["not_a_place"].fullmatch(folded) and not is_place_name(folded)
        case _:
            return True
