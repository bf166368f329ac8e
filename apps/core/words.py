"""What people read for what the database and the API call by name, on Django's pages and in JavaScript alike.

A new emotion, tone or part of a score is told here and in the catalogue (locale/), nowhere else. `list_words` is what
the chat page's scripts get.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


@dataclass(frozen=True, slots=True)
class Emotion:
    """An emotion: its words, and the colours of its chip and in a chart. The chip's is that of its category (E1)."""

    title: Any
    tone: str
    colour: str


EMOTIONS = {
    "neutral": Emotion(_("Neutral"), "grey", "#a3abb3"),
    "happy": Emotion(_("Happy"), "teal", "#e0a429"),
    "excited": Emotion(_("Excited"), "teal", "#e2783a"),
    "grateful": Emotion(_("Grateful"), "teal", "#6aa84f"),
    "curious": Emotion(_("Curious"), "teal", "#2a9d8f"),
    "sad": Emotion(_("Sad"), "red", "#4a78b8"),
    "anxious": Emotion(_("Anxious"), "red", "#8a6bc1"),
    "frustrated": Emotion(_("Frustrated"), "red", "#c8483d"),
    "confused": Emotion(_("Confused"), "red", "#b0679e"),
    "help_seeking": Emotion(_("Seeking help"), "blue", "#3f8fa8"),
    "info_seeking": Emotion(_("Seeking information"), "blue", "#73a6c9"),
    "validation_seeking": Emotion(_("Seeking confirmation"), "blue", "#9a8f5f"),
    "unknown": Emotion(_("Unknown"), "grey", "#8b949e"),
}

# The tone of an emotion that an administrator added, by its category.
CATEGORY_TONES = {"positive": "teal", "negative": "red", "seeking": "blue"}

WORDS: Mapping[str, Mapping[str, Any]] = {
    "emotion": {name: emotion.title for name, emotion in EMOTIONS.items()},
    "tone": {
        "professional": _("Professional"),
        "warm": _("Warm"),
        "enthusiastic": _("Enthusiastic"),
        "gracious": _("Gracious"),
        "engaging": _("Engaging"),
        "empathetic": _("Empathetic"),
        "calm_reassuring": _("Calm and reassuring"),
        "patient_solution_focused": _("Patient, looking for a solution"),
        "clear_explanatory": _("Clear and explaining"),
        "helpful": _("Helpful"),
        "informative": _("Informative"),
        "supportive": _("Supportive"),
    },
    "formality": {"casual": pgettext_lazy("formality", "Casual"), "formal": pgettext_lazy("formality", "Formal")},
    "category": {"preference": _("Preference"), "fact": _("Fact"), "pattern": _("Habit")},
    "categories": {
        "preference": _("Preferences"),
        "fact": _("Facts"),
        "pattern": _("Habits"),
        "atomic": _("Atomic memories"),
    },
    # What people may not want remembered (D4), with what belongs there.
    "sensitive": {
        "health": pgettext_lazy("sensitive", "Health"),
        "faith": pgettext_lazy("sensitive", "Faith"),
        "sex": pgettext_lazy("sensitive", "Sexuality"),
        "money": pgettext_lazy("sensitive", "Money"),
        "minors": pgettext_lazy("sensitive", "Children"),
    },
    "sensitive_hint": {
        "health": _("Illness, disability, medication, therapy, pregnancy, mental health."),
        "faith": _("Religion or belief, and how it is practised."),
        "sex": _("Sex life and sexual orientation."),
        "money": _("Income, savings, debts, taxes, benefits."),
        "minors": _("Anything about a person under 18."),
    },
    # Sections of the profile that every profile has, with what belongs there.
    "section": {
        "reply_style": _("Reply style"),
        "language_habits": _("Language habits"),
        "background": _("Background"),
    },
    "section_hint": {
        "reply_style": _("How you would like replies to be written: short or long, warm or matter-of-fact."),
        "language_habits": _("How you write: languages and expressions you use."),
        "background": _("Who you are: work, family, home, what matters to you."),
    },
    # What stands in a prompt, and what a turn did: its updates, requests to the memory, tools, and time.
    "kind": {
        "long_term": _("Long-term memory"),
        "atomic": _("Atomic memory"),
        "message": _("Past message"),
        "session_summary": _("Summary of another conversation"),
        "conversation_summary": _("Summary of this conversation"),
        "context": _("Shared context"),
        "profile": _("Profile"),
        "working": _("Topic and variables"),
        "messages": _("Messages of this conversation"),
        "variable": _("Variable in working memory"),
    },
    "action": {
        "created": _("New"),
        "superseded": _("Updated"),
        "refreshed": _("Mentioned again"),
        "pending": _("Waiting for review"),
    },
    "command": {
        "stored": _("Stored"),
        "known": _("Already remembered"),
        "waiting": _("Waiting for review"),
        "left_out": _("Not stored: deleted since"),
        "forgotten": _("Forgotten"),
        "not_found": _("No matching memory"),
        "undone": _("Undone"),
        "paused": _("Not stored: remembering was paused"),
        "secret": _("Not stored: holds a secret"),
    },
    # What a message holds that is never remembered (D4).
    "secret": {
        "api_key": _("Not remembered: looks like an API key."),
        "token": _("Not remembered: looks like an access token."),
        "password": _("Not remembered: looks like a password."),
        "pin": _("Not remembered: looks like a PIN."),
        "code": _("Not remembered: looks like a one-time code."),
        "private_key": _("Not remembered: looks like a private key."),
        "recovery_phrase": _("Not remembered: looks like a recovery phrase."),
        "card": _("Not remembered: looks like a card number."),
        "bank_account": _("Not remembered: looks like a bank account number."),
        "identity": _("Not remembered: looks like an identity number."),
    },
    "tool": {
        "search_memories": _("Search memories"),
        "search_conversations": _("Search conversations"),
        "read_conversation": _("Read conversation"),
        "createContext": _("Create shared context"),
        "fetchContext": _("Read shared context"),
        "updateContext": _("Add to shared context"),
    },
    "outcome": {
        "ok": _("Done"),
        "invalid": _("Invalid arguments"),
        "not_found": _("Not found"),
        "too_large": _("Too large"),
        "unknown_tool": _("No such tool"),
        "repeated": _("Repeated call"),
        "too_many": _("Too many calls"),
        "failed": _("Failed"),
    },
    # Where else a deleted memory stands.
    "copy": {
        "long_term": _("long-term memory"),
        "atomic": _("atomic memory"),
        "working": _("working memory"),
        "topic": _("current topic"),
        "profile": _("user profile"),
        "summary": _("summary"),
        "title": _("title of a conversation"),
        "context": _("shared context"),
    },
    "phase": {
        "storing": _("Storing the message"),
        "context": _("Retrieving memories"),
        "first_token": _("Waiting for the first token"),
        "writing": _("Generating the reply"),
    },
}

# The layers of a prompt (C4), by number.
LAYERS = (
    _("Instructions and strategy"),
    _("Profile"),
    _("Working memory"),
    _("Recalled memories"),
    _("Earlier conversations"),
    _("This conversation"),
    _("The new message"),
)


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a score. `field`: its name in what a turn keeps; `full`: the highest it is by the default settings."""

    name: str
    field: str
    title: str | Promise
    about: str | Promise
    full: float = 1.0


# The parts of a long-term memory's score, in the order in which they are shown (K5, K9).
COMPONENTS = (
    Component(
        "keyword",
        "keyword_score",
        _("Keyword match"),
        _("How many of the message's keywords it contains. Rare words count more than common ones."),
    ),
    Component(
        "semantic",
        "semantic_score",
        _("Meaning match"),
        _("How similar it is in meaning, even without shared words. The better of the two matches counts."),
    ),
    Component(
        "category",
        "category_boost",
        _("Category boost"),
        _("Preferences weigh 1.5, facts 1.2, habits 1."),
        full=1.5,
    ),
    Component(
        "recency",
        "recency_score",
        _("Recency"),
        _("1 for a memory that was just used; halved for every half-life without use."),
    ),
    Component(
        "frequency",
        "frequency_score",
        _("Frequency"),
        _("How often it was used, compared with the most used candidate."),
    ),
    Component(
        "confidence",
        "confidence",
        _("Confidence"),
        _("How certain it is. Statements count more than inferences."),
    ),
    Component(
        "topic",
        "topic_boost",
        _("Topic boost"),
        _("The weighted sum of the above is multiplied by this: 1.3 if it fits the current topic, otherwise 1."),
        full=1.3,
    ),
)
# Points that few parts of an atomic memory's score reach: a bar is full there.
FULL_PART = 5.0

# The parts that add up to an atomic memory's score.
ATOMIC_PARTS = tuple(
    Component(name, name, title, about, full=FULL_PART)
    for name, title, about in (
        ("meaning", _("Meaning"), _("How close it is to the message in meaning, compared with other memories.")),
        (
            "words",
            _("Words"),
            _("How well its words match the message, compared with other memories. Rare words count more."),
        ),
        (
            "words_near",
            _("Nearby words"),
            _("How many words of the message occur in it or in the two memories before and after it."),
        ),
        ("length", _("Length"), _("Short messages rarely contain an answer, so they lose points.")),
        ("question", _("Question"), _("It asks something. Questions rarely contain an answer, so they lose points.")),
        ("answer", _("Answer"), _("It follows a question that contains words of the message.")),
        ("speaker", _("Speaker"), _("The message names the person who said it.")),
        ("time", _("Time"), _("It is from a time that the message mentions.")),
        (
            "earlier_meaning",
            _("Earlier meaning"),
            _("The message is short, so the messages before it count too: how close it is to them in meaning."),
        ),
        (
            "earlier_words",
            _("Earlier words"),
            _("The message is short, so the messages before it count too: how well its words match theirs."),
        ),
        ("said_before", _("Said before"), _("The messages before it contain part of it already, so it loses points.")),
    )
)
# Of an atomic memory, besides its parts. BM25 has no upper bound; a bar is full at what few memories reach.
ATOMIC_SCORES = (
    Component(
        "keyword",
        "keyword_score",
        _("Words (BM25)"),
        _("How well its words match the message. Rare words count more, and long texts slightly less."),
        full=10.0,
    ),
    Component(
        "semantic",
        "semantic_score",
        _("Meaning (cosine)"),
        _("How similar it is in meaning, from 0 to 1."),
    ),
)


def word(kind: str, name: str) -> str:
    """Return the words for `name` of a table in `WORDS`; one that an administrator added is shown as it is."""
    return str(WORDS[kind].get(name, name))


def find_emotion(name: str, category: str = "") -> Emotion:
    """Return an emotion; one that an administrator added is called as they called it."""
    return EMOTIONS.get(name) or Emotion(name, CATEGORY_TONES.get(category, "grey"), EMOTIONS["unknown"].colour)


def list_words() -> dict[str, Any]:
    """Return what the chat page's scripts need, in the language of the page, as JSON takes it."""
    kinds = ("emotion", "tone", "formality", "category", "kind", "action", "sensitive", "secret")
    return {
        **{kind: {name: str(text) for name, text in WORDS[kind].items()} for kind in kinds},
        "layers": [str(layer) for layer in LAYERS],
        "components": [_write(component) for component in COMPONENTS],
        "parts": [_write(component) for component in ATOMIC_PARTS],
    }


def _write(component: Component) -> dict[str, Any]:
    return asdict(component) | {"title": str(component.title), "about": str(component.about)}
