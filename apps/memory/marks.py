"""Marks of sensitive memories (D4): how models are asked for them, and reading what they give. Pure.

The connected model alone says what is sensitive. Where it gives no mark, nothing is marked: no list of words here knows
better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apps.accounts.types import Sensitive

# What each category covers, as models are told.
ABOUT = {
    Sensitive.HEALTH: "illness, symptoms, disability, medication, therapy, mental health, addiction, pregnancy",
    Sensitive.FAITH: "religion or belief, and its practice",
    Sensitive.SEX: "sex life, sexual orientation, gender identity",
    Sensitive.MONEY: "somebody's income, savings, debts, taxes, benefits",
    Sensitive.MINORS: "anything about a person under 18",
}


def describe_categories(categories: Iterable[Sensitive]) -> str:
    """Return categories with what each covers, as a model reads them."""
    return ", ".join(f'"{one.value}" ({ABOUT[one]})' for one in categories)


def quote_categories(categories: Iterable[Sensitive]) -> str:
    """Return the codes of categories in a row."""
    return ", ".join(f'"{one.value}"' for one in categories)


# For an instruction that is followed by what has to be marked.
ASK_FOR_MARKS = f"""\
"sensitive" is the list of those of these kinds that an item tells something about, empty for most: \
{describe_categories(Sensitive)}. What only sounds like it (a healthy server, a child process, a budget of tokens) is \
not meant."""


def ask_to_leave_out(categories: Sequence[Sensitive]) -> str:
    """Return the instruction to write nothing of these categories, "" for none."""
    if not categories:
        return ""
    kinds, about = quote_categories(categories), describe_categories(categories)
    return f"Leave out everything of the kinds {kinds}, whomever it is about: {about}."


def sort_marks(marks: Iterable[str]) -> list[str]:
    """Return the categories among marks, each once and in their order; what is none is left out."""
    given = set(marks)
    return [one.value for one in Sensitive if one in given]


def read_marks(value: object) -> tuple[str, ...]:
    """Return the categories among what a model gave: one, a list of them, or nothing at all."""
    given = value if isinstance(value, list | tuple) else (value,)
    return tuple(sort_marks(mark.strip().lower() for mark in given if isinstance(mark, str)))
