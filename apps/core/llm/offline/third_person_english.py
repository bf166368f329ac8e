"""English in the third person: "I've got a dog" → "the user has got a dog", or nothing where that would break it.

The verb after "I" or "we" is found behind its adverbs and gets the ending of the third person if it is in the present;
so does one after "and". `data/english_verbs.toml` knows the verbs whose forms do not tell by themselves.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

USER = "the user"
_CONTRACTED = {"'m": "is", "'re": "is", "'ve": "has", "'ll": "will"}
_PLURAL = {"'m": "are", "'re": "are", "'ve": "have", "'ll": "will"}
_BARE_CONTRACTIONS = {"im": "i'm", "ive": "i've", "dont": "don't", "didnt": "didn't", "cant": "can't"}
_BARE_CONTRACTIONS |= {"havent": "haven't", "wasnt": "wasn't", "isnt": "isn't", "wont": "won't"}
_OBJECTS = {"me": USER, "us": USER, "my": f"{USER}'s", "our": f"{USER}'s", "mine": f"{USER}'s", "ours": f"{USER}'s"}
_OBJECTS |= {"myself": "themself", "ourselves": "themself"}
_AGREEING = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does", "don't": "doesn't"}
_AGREEING |= {"haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't", "go": "goes"}
_SLANG = {"wanna": "wants to", "gonna": "is going to", "imma": "is going to", "gotta": "has to", "hafta": "has to"}
_SLANG |= {"dunno": "doesn't know"}
_SLANG_ELSEWHERE = {"wanna": "want to", "gonna": "going to", "gotta": "have to", "hafta": "have to"}
_QUOTED = re.compile(
    r"“[^“”\n]*”|\"[^\"\n]*\"|(?<!\w)'[^'\n]+'(?!\w)|《[^》\n]*》|(?<=[a-z,] )(?:My|Our|We|Me)(?: [A-Z][\w'-]*)+"
    r"|\bUS\b|\b[Ii]\.e\.|\bI-\d+|(?<=-)I\b|\b[Ii](?=-[A-Za-z])"
    r"|\b(?:War|Part|Type|type|Phase|Chapter|Volume|Stage|Level|Calculus|Algebra|Physics|Elizabeth|Charles) I\b"
    r"|\b(?:[Aa]|[Tt]he|gold|coal|data|silver|land) (?:\w+ )?mine\b"
)
"""What stays as it is: quotations, names and titles, "US" and other words that only look like a person."""
_NEVER_SAFE = re.compile(
    r"\b(?:(?:all|both|most|some|one|two|three|each|none|either|neither|many|the rest) of us"
    r"|we (?:both|all|each|two|were both|are both|are all|were all)|let's|lets us|lemme|gimme|ain't"
    r"|either i|nor i|i for one"
    r"|between (?:us|you and)|us (?:both|all|two|girls|guys|kids)|each other|one another)\b"
    r"|\bi[,:;] ",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"\s*,\s*(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|should)(?:n't)? "
    r"(?:i|we|you|it|he|she|they)(?: not)?\?*(?=[.!?]*$)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",? (?:(?:if )?dare i say(?: it)?|if i may say so|may i say|i (?:must|have to) (?:say|admit)),", re.IGNORECASE
)
"""What is said in passing of the saying itself."""
_COMPOUND = re.compile(
    r"(?:^|[,;:.!?] |\b(?:[Ww]hen|[Ss]ince|[Bb]ecause|[Ii]f|that|where|while|after|before|so|but|once|until) )"
    r"(?:(?:[Mm]y|[Oo]ur|[Tt]he|[Hh]is|[Hh]er|[Mm]e) ?(?:[\w'-]+ ){0,2}|[A-Z][a-z]+ (?:[A-Z][a-z]+ )?)and $"
)
"""What "and I" goes on with at the beginning of a clause: another person, so that the verb is in the plural."""
_PIECE = re.compile(r"([A-Za-z]+(?:'[A-Za-z]+)*)")
_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))the user")
_HIDDEN = "\ue000"


@dataclass(frozen=True, slots=True)
class _Verbs:
    """``bases`` come after "and" too; ``pasts`` have no other reading, ``shared`` are past and present alike."""

    bases: frozenset[str]
    pasts: frozenset[str]
    participles: frozenset[str]
    shared: frozenset[str]
    words: Mapping[str, frozenset[str]]


@cache
def _load_verbs() -> _Verbs:
    table = tomllib.loads(files(__package__).joinpath("data/english_verbs.toml").read_text(encoding="utf-8"))
    words = {name: frozenset(row.split()) for name, row in table["words"].items()}
    irregular: dict[str, list[str]] = table["irregular"]
    pasts = {base: frozenset(past.split("/")) for base, (past, _) in irregular.items()}
    participles = frozenset(form for _, forms in irregular.values() for form in forms.split("/"))
    shared = frozenset(base for base, forms in pasts.items() if base in forms)
    forms = frozenset[str]().union(*pasts.values()) | participles
    return _Verbs(
        bases=frozenset(irregular) | words["common"],
        pasts=forms - (frozenset(irregular) - {"found", "saw", "ground", "wound"}),
        participles=participles - frozenset(irregular),
        shared=shared,
        words=words,
    )


def tell_english(text: str) -> str | None:
    """`text` told of "the user"; None where a sentence cannot be turned safely."""
    text = _ASIDE.sub("", _TAG.sub("", text))
    kept: list[str] = []

    def hide(found: re.Match[str]) -> str:
        kept.append(found.group())
        return _HIDDEN

    text = _QUOTED.sub(hide, text)
    if _NEVER_SAFE.search(text):
        return None
    told = _Telling(_PIECE.split(text)).tell()
    if told is None:
        return None
    told = _SENTENCE.sub("The user", told)
    return re.sub(_HIDDEN, lambda _: kept.pop(0), told)


def is_third_person(word: str) -> bool:
    """Whether `word` is a common verb in the third person of the present: "lives", "has", "is"."""
    stems = (word[:-1], word[:-2], f"{word[:-3]}y")
    return word in ("is", "has") or any(stem in _load_verbs().bases and _add_s(stem) == word for stem in stems)


class _Telling:
    """One pass over the pieces of a text: words at odd places, what is between them at even ones."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.low = [_BARE_CONTRACTIONS.get(piece.lower(), piece.lower()) for piece in pieces]
        self.told = list(pieces)
        self.verbs = _load_verbs()
        self.agrees = False
        """Whether a verb after "and" would have the user as its subject and be in the present."""
        self.goes_on = False
        """Whether the user would be the subject of "am" after "and", or of the "have" of a perfect."""

    def tell(self) -> str | None:
        for at in range(1, len(self.pieces), 2):
            word = self.low[at]
            person, apostrophe, rest = word.partition("'")
            if self.told[at] != self.pieces[at]:
                continue  # turned with its subject
            if person in ("i", "we") and (not apostrophe or rest in ("m", "re", "ve", "ll", "d")):
                if not self._tell_subject(at, contraction=apostrophe + rest):
                    return None
            elif word in _OBJECTS:
                self.told[at] = _OBJECTS[word]
            elif word in _SLANG_ELSEWHERE:
                self.told[at] = _SLANG_ELSEWHERE[word]
            elif word in self.verbs.words["another"]:
                self.agrees = self.goes_on = False
            elif self.agrees and word in ("and", "but", "or", "then") and not self._tell_coordinated(at):
                return None
            elif self.goes_on and word == "and":
                self._tell_auxiliary(at)
            elif self.agrees and self.pieces[at - 1].strip() == "," and word in self.verbs.bases:
                return None  # a third verb, or a thing: "I eat, sleep and work", "I need rest, sleep and water"
        return "".join(self.told)

    def _tell_subject(self, at: int, *, contraction: str) -> bool:
        """Turn the subject at `at` and its verb; returns whether that was safe."""
        before = self.low[at - 2] if at > 1 and self.pieces[at - 1] == " " else ""
        plural = before == "and" and _COMPOUND.search("".join(self.pieces[:at])) is not None
        companion = self.low[at - 4] if plural and at > 3 else ""
        plural = plural and companion not in self.verbs.pasts and not self._is_regular_past(companion)
        if not contraction and before in self.verbs.words["auxiliary"]:
            return False
        self.told[at] = USER
        self.agrees, self.goes_on = False, not plural
        if contraction:
            return self._tell_contraction(at, contraction=contraction, plural=plural)
        if before in ("than", "like") and not self.pieces[at + 1].startswith(" "):
            return True
        verb = self._find_verb(at)
        if verb is None:
            return False
        if plural:
            word = self.low[verb]
            self.told[verb] = "are" if word == "am" else "were" if word == "was" else self.pieces[verb]
            return True
        self.told[verb] = inflected = self._inflect(verb)
        self.agrees = self.low[verb] in ("am", "are") or (inflected != self.pieces[verb] and self.low[verb] != "were")
        return True

    def _tell_contraction(self, at: int, *, contraction: str, plural: bool) -> bool:
        following = self._find_verb(at)
        word = self.low[following] if following is not None else ""
        if contraction == "'d":
            had = word == "better" or word in self.verbs.participles or self._is_regular_past(word)
            self.told[at] = f"{USER} {'had' if had else 'would'}"
        else:
            self.told[at] = f"{USER} {(_PLURAL if plural else _CONTRACTED)[contraction]}"
            if contraction == "'ve" and word == "gotta" and following is not None:
                self.told[following] = "got to"
            self.agrees = contraction in ("'m", "'re") and not plural
        return True

    def _find_verb(self, at: int) -> int | None:
        """Where the verb after the subject at `at` is, behind its adverbs; None if something else comes."""
        words = self.verbs.words
        for index in range(at + 2, len(self.pieces), 2):
            word = self.low[index]
            if self.pieces[index - 1] != " ":
                return None
            if word in words["adverb"] or (word.endswith("ly") and word not in words["present"]):
                continue
            if word == "no" and index + 2 < len(self.low) and self.low[index + 2] == "longer":
                continue
            if word == "longer" and self.low[index - 2] == "no":
                continue
            gerund = word.endswith("ing") and word not in words["present"]
            subject = self.low[at] in ("i", "we")
            return None if subject and (gerund or word in words["no_verb"]) else index
        return None

    def _tell_coordinated(self, at: int) -> bool:
        """Turn the verb right after the conjunction at `at`, where it still is the user's; False: it may be a noun."""
        verb = self._find_verb(at)
        if verb is None:
            return True
        word = self.low[verb]
        start = max((place for place in range(1, at, 2) if self.told[place].startswith(USER)), default=1)
        infinitive = any(
            self.low[place] in ("to", "let", "help", "make") and self.low[place + 2] in self.verbs.bases
            for place in range(start, at, 2)
        )
        after = self.low[verb + 2] if verb + 2 < len(self.low) else ""
        certain = word in ("am", "don't", "haven't")
        certain = certain or (word == "have" and not infinitive)
        plain = not after or self._follows_verb(after) or word in self.verbs.words["only_verb"]
        likely = word in self.verbs.bases and not infinitive and plain
        if likely and word in self.verbs.words["noun"] and after in ("", "and"):
            return False
        if certain or likely:
            self.told[verb] = self._inflect(verb)
        return True

    def _tell_auxiliary(self, at: int) -> None:
        """Turn the verb after the "and" at `at` where no noun looks like it: "I landed and have signed"."""
        verb = self._find_verb(at)
        after = self.low[verb + 2] if verb is not None and verb + 2 < len(self.low) else ""
        perfect = after in self.verbs.participles or self._is_regular_past(after)
        if verb is not None and (self.low[verb] == "am" or (self.low[verb] in ("have", "haven't") and perfect)):
            self.told[verb] = _AGREEING[self.low[verb]]

    def _follows_verb(self, word: str) -> bool:
        return word in self.verbs.words["determiner"] or word.endswith("ly")

    def _inflect(self, at: int) -> str:
        """The third person of the verb at `at` where it is in the present: live → lives, moved → moved."""
        low, words = self.low[at], self.verbs.words
        if found := _SLANG.get(low) or _AGREEING.get(low):
            return found
        if low in self.verbs.shared and not any(word in words["habit"] for word in self.low[1::2]):
            return self.pieces[at]
        if low in words["modal"] or low in self.verbs.pasts or self._is_regular_past(low):
            return self.pieces[at]
        if low != self.pieces[at].lower():
            return low  # an apostrophe was missing
        return _add_s(self.pieces[at])

    def _is_regular_past(self, word: str) -> bool:
        return word.endswith("ed") and len(word) > 3 and word not in self.verbs.words["present"]


def _add_s(verb: str) -> str:
    if verb.endswith("s") and not verb.endswith(("ss", "focus")):
        return verb
    if verb.endswith(("s", "x", "z", "ch", "sh", "go", "do", "to")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"
