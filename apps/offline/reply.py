"""What the offline model replies: what was done to the memory, answers from it, and short honest words besides.

It quotes what people said. That something is stored or forgotten is said only where the prompt says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.offline.answers import find_answers, find_related, gather_known
from apps.offline.emotion import Emotion
from apps.offline.language import Language, fold_in_place
from apps.offline.prompt import Memory, Prompt, read_object
from apps.offline.rules import compile_rule, load_table
from apps.offline.statements import list_statements

_MOST_QUOTED = 5
_EDGE = " \n\t,.!?~。…"
_PART = re.compile(r"[,!?;~。…\n]+|\.(?=\s|$)")
_COURTESIES = ("wellbeing", "praise", "thanks", "farewell")
_GLAD = {"happy", "excited", "grateful"}


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
        """Return texts as quotations, the first few of many."""
        shown = [self.say("quoted", text=text.strip(_EDGE)) for text in texts[:_MOST_QUOTED]]
        rest = len(texts) - len(shown)
        return self.say("join").join(shown) + (self.say("and_more", count=str(rest)) if rest > 0 else "")


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to `prompt`, in the language of `phrases`."""

    prompt: Prompt
    emotion: Emotion
    topic: str | None
    phrases: Phrases

    def compose(self) -> str:
        """The reply, within the strategy's ``max_length`` characters if it can.

        The first sentence, and what was done to the memory, are always said; what no longer fits is left out.
        """
        limit = self.prompt.strategy.max_length
        sentences, gap = list(self._say_done()), " " if self.phrases.language == "en" else ""
        for sentence in self._say_rest(done=bool(sentences)):
            if not sentences or len(gap.join([*sentences, sentence])) <= limit:
                sentences.append(sentence)
        reply = gap.join(sentences)
        glad = self.prompt.strategy.emoji_allowed and self.emotion.primary in _GLAD
        return f"{reply} 😊" if glad and len(reply) + 2 <= limit else reply

    def _say_done(self) -> Iterator[str]:
        """What was done to the memory because the message said so (L9), and everything where that was asked for."""
        say = self.phrases.say
        for name in ("stored", "known", "waiting", "forgotten", "not_found", "temporary"):
            if texts := self.prompt.actions.get(name):
                yield say(name, said=self.phrases.quote(texts))
        if self.prompt.everything:
            yield say("everything", said="\n" + "\n".join(map(_show_line, self.prompt.everything.splitlines())) + "\n")

    def _say_rest(self, *, done: bool) -> Iterator[str]:
        prompt, say, hears = self.prompt, self.phrases.say, self.phrases.hears
        asking = prompt.strategy.proactive_question
        if prompt.submitted is not None:
            fields = (say("form_field", name=name, value=value) for name, value in prompt.submitted.shown)
            yield say("form", title=prompt.submitted.title, fields=say("join").join(fields))
            if asking:
                yield say("ask_form")
            return
        folded = fold_in_place(prompt.message).strip(_EDGE)
        parts = [part.strip(_EDGE) for part in _PART.split(folded) if part.strip(_EDGE)]
        greeted = bool(parts) and hears("greeting", parts[0])
        if greeted and not done:
            yield say("greeting")
        courtesies = [cue for cue in _COURTESIES if any(hears(cue, part) for part in parts)]
        small_talk = all(any(hears(cue, part) for cue in ("greeting", "assent", *_COURTESIES)) for part in parts)
        answered = [] if small_talk or done else list(self._answer(folded))
        yield from answered
        yield from (say(f"on_{cue}") for cue in courtesies)
        if answered or courtesies or done:
            return
        if parts and all(hears("assent", part) for part in parts):
            yield say("on_assent")
        elif not greeted or len(parts) > 1:
            yield from self._listen()
            if asking:
                yield say("ask_more")
        elif asking:
            yield say("ask_today")

    def _listen(self) -> Iterator[str]:
        """What is said to a message that asks nothing: the feeling is answered, what was told is quoted."""
        say, felt = self.phrases.say, self.phrases.table["emotions"].get(self.emotion.primary)
        if felt:
            yield felt
        if told := [sentence.text for sentence in list_statements(self.prompt.message)]:
            yield say("heard", said=self.phrases.quote(told))
            return
        if not felt:
            plain = say("heard_topic", topic=self.topic) if self.topic else say("heard_plain")
            yield self.phrases.table["tones"].get(self.prompt.strategy.tone) or plain
        yield from self._say_related()

    def _answer(self, folded: str) -> Iterator[str]:
        """What is replied to questions and requests; nothing when there are none."""
        prompt, say, hears = self.prompt, self.phrases.say, self.phrases.hears
        asks = prompt.message.rstrip(" \"'”’)").endswith(("?", "？")) or hears("asks", folded)
        if hears("how_kept", folded) and asks:
            yield say("temporary_kept" if "temporary" in prompt.actions else "how_kept")
        elif hears("who", folded):
            yield from (say("who"), say("connect"))
        elif hears("summaries", folded):
            said = say("clause_join").join(prompt.session_summaries[:3])
            yield say("summaries", said=said) if said else say("no_summaries")
        elif asks and hears("about_user", folded) and not hears("work", folded) and not hears("opinion", folded):
            found = find_answers(prompt.message, gather_known(prompt))
            said = self.phrases.quote([memory.text for memory in found])
            yield say("recalled", said=said) if found else say("unknown")
        elif hears("about_model", folded):
            yield say("no_self")
        elif asks or hears("work", folded):
            yield say("cannot")
            yield from self._say_related()
            yield say("connect")

    def _say_related(self) -> Iterator[str]:
        if related := find_related(self.prompt.message, gather_known(self.prompt)):
            yield self.phrases.say("related", said=self.phrases.quote([related.text]))


def _show_line(line: str) -> str:
    """A line of what is remembered; one that is JSON as its text."""
    row = read_object(line)
    return "- " + Memory(str(row.get("key", "")), row.get("value", row.get("text", ""))).text if row else line
