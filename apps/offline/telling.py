"""How what was remembered is told: an entry as a sentence, what was said as a quotation with its day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from apps.core.text.sentences import cut_at_sentence
from apps.offline.attributes import name_attribute
from apps.offline.language import Language
from apps.offline.prompt import Memory
from apps.offline.rules import compile_rule, load_table

_MOST_QUOTED, _LONGEST_QUOTE = 5, 240
EDGE, _ENDS = " \n\t,.!?~。…", ".!?。！？…"


class Phrases:
    """The texts and cues of one language (data/replies.toml)."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.table: Mapping[str, Any] = load_table("replies")[language]

    def hears(self, cue: str, folded: str) -> bool:
        """Whether `folded` text has the cue."""
        return compile_rule(self.table["cues"][cue]).search(folded) is not None

    def say(self, name: str, /, **parts: str) -> str:
        """Return the text called `name` with its parts filled in."""
        return str(self.table[name]).format(**parts)

    def quote(self, texts: Sequence[str]) -> str:
        """Return texts as quotations inside of a sentence, the first few of many."""
        shown = [self.say("quoted", text=text.strip(EDGE)) for text in texts[:_MOST_QUOTED]]
        rest = len(texts) - len(shown)
        return self.say("join").join(shown) + (self.say("and_more", count=str(rest)) if rest > 0 else "")

    def cite(self, texts: Sequence[str]) -> str:
        """Return texts as quotations that end a sentence."""
        gap, stop = self.say("gap"), self.say("stop")
        cited = [cut_at_sentence(" ".join(text.split()), _LONGEST_QUOTE) for text in texts]
        return gap.join(self.say("cited", text=one) + stop * (one[-1:] not in _ENDS) for one in cited)

    def tell(self, memories: Sequence[Memory], *, today: date | None) -> list[str]:
        """Return the sentences that tell `memories`, in order; what was said on one day together."""
        sentences: list[str] = []
        for when, group in groupby(memories, key=lambda one: None if one.key else self._name_day(one.day, today)):
            if when is None:
                sentences += map(self._state, group)
            else:
                said = self.cite([memory.text for memory in group])
                sentences.append(self.say("told_on", when=when, said=said) if when else self.say("told", said=said))
        return sentences

    def _state(self, entry: Memory) -> str:
        """What an entry says: "You live in York." of an attribute with a name, else its key and its value."""
        named, value = name_attribute(entry.key), entry.said.strip(EDGE)
        if named is None:
            return self.say("entry", key=entry.key, value=value)
        row = load_table("attributes")[named[0]]
        sentence = row.get("told", {}).get(self.language) or self.table["attribute"]
        return str(sentence).format(key=row[self.language].format(name=named[1]), name=named[1], value=value)

    def _name_day(self, day: date | None, today: date | None) -> str:
        """The day as one speaks of it today; "" where either is not known, or it is still to come."""
        if day is None or today is None or day > today:
            return ""
        days = self.table["days"]
        if (ago := (today - day).days) < len(days["recent"]):
            return str(days["recent"][ago])
        if ago < 7:
            return str(days["weekdays"][day.weekday()])
        form = days["date"] if day.year == today.year else days["date_of_year"]
        return str(form).format(year=day.year, month=days["months"][day.month - 1], day=day.day)
