"""What a message says about its writer that lasts: whole sentences in their own words, and entries by name."""

from __future__ import annotations

from apps.core.text.instructions import is_instruction
from apps.offline import chinese, english
from apps.offline.attributes import Fact, read_facts
from apps.offline.rules import load_rules
from apps.offline.sentences import Sentence, list_sentences


def list_statements(text: str) -> list[Sentence]:
    """Return the sentences of a message that are kept, each once."""
    found = {sentence.text: sentence for sentence in list_sentences(text) if is_kept(sentence)}
    return list(found.values())


def is_kept(sentence: Sentence) -> bool:
    """Whether a sentence says something lasting, or names an attribute plainly."""
    if is_instruction(sentence.text):
        return False
    if sentence.language == "zh":
        lasting = chinese.is_lasting(sentence.plain)
    else:
        lasting = english.is_lasting(sentence.plain, sentence.text)
    return lasting or any(fact.is_single for fact in read_stated(sentence))


def list_facts(text: str) -> list[Fact]:
    """Return what a message says of attributes, in order."""
    return [fact for sentence in list_sentences(text) if is_kept(sentence) for fact in read_stated(sentence)]


def read_stated(sentence: Sentence) -> list[Fact]:
    """Return what a sentence states of attributes: a guess or a question states none."""
    language = "chinese" if sentence.language == "zh" else "english"
    return [] if load_rules(language)["never"].search(sentence.plain) else read_facts(sentence)
