"""What the offline model replies: what was done to the memory, answers from it, and short honest words besides.

It quotes what people said: an entry as a sentence, what was said as a quotation with its day. That something is stored
or forgotten is said only where the prompt says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any

from apps.core.text.clean import json_text
from apps.core.text.sentences import cut_at_sentence
from apps.offline.answers import find_answers
from apps.offline.attributes import name_attribute
from apps.offline.emotion import Emotion
from apps.offline.language import Language, compile_rule, fold_in_place, load_table
from apps.offline.prompt import Memory, Prompt, read_object
from apps.offline.statements import is_question, list_statements

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


_PART = re.compile(r"[,!?;~。…\n]+|\.(?=\s|$)")
_COURTESIES = ("wellbeing", "praise", "thanks", "farewell")
_SMALL_TALK = ("greeting", "assent", *_COURTESIES)
_ASKING = ("asks", "how_kept", "who", "summaries", "about_user", "about_model", "opinion", "work")


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to `prompt`, in the language of `phrases`."""

    prompt: Prompt
    emotion: Emotion
    topic: str | None
    phrases: Phrases

    def compose(self) -> str:
        """The reply, within the strategy's ``max_length`` characters if it can.

        What was done to the memory, what is told from it and the first sentence are always said; what no longer fits
        is left out.
        """
        limit, gap = self.prompt.strategy.max_length, self.phrases.say("gap")
        sentences = list(self._say_done())
        answer = [] if sentences else self._answer_question()
        for sentence in self._say_rest(answer, done=bool(sentences)):
            if not sentences or sentence in answer or len(gap.join([*sentences, sentence])) <= limit:
                sentences.append(sentence)
        reply = gap.join(sentences)
        glad = self.prompt.strategy.emoji_allowed and self.emotion.primary in ("happy", "excited", "grateful")
        return f"{reply} 😊" if glad and len(reply) + 2 <= limit else reply

    def _say_done(self) -> Iterator[str]:
        """What was done to the memory because the message said so (L9), and everything where that was asked for."""
        say = self.phrases.say
        for name in ("stored", "known", "waiting", "forgotten", "not_found", "secret", "temporary", "paused"):
            if texts := self.prompt.actions.get(name):
                yield say(name, said=self.phrases.quote(texts))
        if self.prompt.everything:
            yield say("everything", said="\n" + "\n".join(map(_show_line, self.prompt.everything.splitlines())) + "\n")

    def _say_rest(self, answer: list[str], *, done: bool) -> Iterator[str]:
        prompt, say, hears = self.prompt, self.phrases.say, self.phrases.hears
        asking = prompt.strategy.proactive_question
        if prompt.submitted is not None:
            fields = [
                say("form_field", name=name, value=json_text(value)) for name, value in prompt.submitted.fields.items()
            ]
            yield say("form", title=prompt.submitted.title, fields=say("join").join(fields))
            if asking:
                yield say("ask_form")
            return
        parts = self._list_parts()
        greeted = bool(parts) and hears("greeting", parts[0])
        if greeted and not done:
            yield say("greeting")
        courtesies = [cue for cue in _COURTESIES if any(hears(cue, part) for part in parts)]
        yield from answer
        yield from (say(f"on_{cue}") for cue in courtesies)
        if answer or courtesies or done:
            return
        if parts and all(hears("assent", part) for part in parts):
            yield say("on_assent")
        elif not greeted or len(parts) > 1:
            yield from self._listen()
            if asking:
                yield say("ask_more")
        elif asking:
            yield say("ask_today")

    def _list_parts(self) -> list[str]:
        parts = (part.strip(EDGE) for part in _PART.split(fold_in_place(self.prompt.message)))
        return list(filter(None, parts))

    def _listen(self) -> Iterator[str]:
        """What is said to a message that asks nothing: the feeling is answered, what was told is quoted."""
        say, felt = self.phrases.say, self.phrases.table["emotions"].get(self.emotion.primary)
        if felt:
            yield felt
        if told := [sentence.text for sentence in list_statements(self.prompt.message)]:
            yield say("heard", said=self.phrases.cite(told[:3]))
            return
        if not felt:
            plain = say("heard_topic", topic=self.topic) if self.topic else say("heard_plain")
            yield self.phrases.table["tones"].get(self.prompt.strategy.tone) or plain
        related, fits = find_answers(self.prompt.message, self.prompt)
        yield from self.phrases.tell(related[:fits], today=self.prompt.today)

    def _answer_question(self) -> list[str]:
        """What is replied to a question or a request; nothing where there is none."""
        prompt, say = self.prompt, self.phrases.say
        folded = fold_in_place(prompt.message).strip(EDGE)
        heard = {cue for cue in _ASKING if self.phrases.hears(cue, folded)}
        small = all(any(self.phrases.hears(cue, part) for cue in _SMALL_TALK) for part in self._list_parts())
        if prompt.submitted is not None or small:
            return []
        asks = is_question(prompt.message) or ("asks" in heard and not list_statements(prompt.message))
        if "how_kept" in heard and asks:
            return [say("temporary_kept" if "temporary" in prompt.actions else "how_kept")]
        if "who" in heard:
            return [say("who"), say("connect")]
        if "summaries" in heard:
            said = say("clause_join").join(prompt.session_summaries[:3])
            return [say("summaries", said=said) if said else say("no_summaries")]
        if "about_model" in heard and "about_user" not in heard:
            return [say("no_self")]
        return self._recall(heard, asks=asks) if asks or "work" in heard else []

    def _recall(self, heard: set[str], *, asks: bool) -> list[str]:
        """What was recalled for a question; where it asks for more than that, that this takes a real model."""
        say, about_user = self.phrases.say, "about_user" in heard
        found, fits = find_answers(self.prompt.message, self.prompt)
        told = self.phrases.tell(found if asks or fits else [], today=self.prompt.today)
        if heard & {"work", "opinion"} or not (about_user or fits):
            return [say("cannot"), *told, say("connect")]
        if not told:
            return [say("unknown")]
        return told if fits else [say("unsure"), *told]


def _show_line(line: str) -> str:
    """A line of what is remembered; one that is JSON as its text."""
    row = read_object(line)
    return "- " + Memory(str(row.get("key", "")), row.get("value", row.get("text", ""))).text if row else line
