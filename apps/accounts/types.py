"""Values of accounts: the settings that can be changed at run time (G1), scopes and request limits of API tokens (T4).

The registry of settings holds their names, types, ranges and defaults in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, field_validator, model_validator

PREFIX = "memory."


def _(text: str) -> str:
    """Marks a text for the catalogues; it is translated where it is shown. (This module does without Django.)"""
    return text


@lru_cache(maxsize=1)
def list_timezones() -> frozenset[str]:
    """The names of all time zones; reading them takes a walk through the file system."""
    return frozenset(available_timezones())


@dataclass(frozen=True, slots=True)
class Sight:
    """From where a person looks at what is remembered (P2).

    They see what is everywhere and what is in `space`, and what they make goes there; None is everywhere alone. With
    `everything` they see all spaces at once, as whoever looks after their memories does.
    """

    space: UUID | None = None
    everything: bool = False

    def sees(self, space: UUID | None) -> bool:
        """Whether what is in this space is seen: `apps.accounts.spaces.seen_from` for what is no row."""
        return self.everything or space is None or space == self.space


Share = Annotated[float, Field(ge=0, le=1, strict=True)]


class ScoreWeights(BaseModel):
    """Weights of the retrieval score (K5)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keyword: Share = 0.40
    category: Share = 0.20
    recency: Share = 0.15
    frequency: Share = 0.10
    confidence: Share = 0.15

    @model_validator(mode="after")
    def some_weight(self) -> ScoreWeights:
        if not any((self.keyword, self.category, self.recency, self.frequency, self.confidence)):
            raise ValueError("At least one weight must be above 0.")
        return self


class Sensitive(StrEnum):
    """A kind of fact that people may not want remembered (D4)."""

    HEALTH = "health"
    FAITH = "faith"
    SEX = "sex"
    MONEY = "money"
    MINORS = "minors"


class Handling(StrEnum):
    """What becomes of what is learned, from the mildest on: remembered, only after a yes in Review, or never."""

    REMEMBER = "remember"
    REVIEW = "review"
    EXCLUDE = "exclude"


class SensitiveHandling(BaseModel):
    """How each sensitive category is handled (D4). What is marked with several is handled as the strictest says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    health: Handling = Handling.REMEMBER
    faith: Handling = Handling.REMEMBER
    sex: Handling = Handling.REMEMBER
    money: Handling = Handling.REMEMBER
    minors: Handling = Handling.REMEMBER

    def select(self, *handlings: Handling) -> tuple[Sensitive, ...]:
        """Return the categories that are handled in one of these ways."""
        return tuple(one for one in Sensitive if getattr(self, one) in handlings)

    @property
    def guarded(self) -> tuple[Sensitive, ...]:
        """The categories that are not simply remembered: only where there are any, models are asked for marks."""
        return self.select(Handling.REVIEW, Handling.EXCLUDE)

    def decide(self, marks: Iterable[str]) -> Handling:
        """Return how what has these marks is handled."""
        return max((getattr(self, mark) for mark in marks), key=tuple(Handling).index, default=Handling.REMEMBER)


REMEMBER_ALL = SensitiveHandling()


def _whole(default: int, minimum: int, maximum: int, help_text: str) -> int:
    field: int = Field(default=default, ge=minimum, le=maximum, strict=True, description=help_text)
    return field


class MemorySettings(BaseModel):
    """Effective settings of one user. On the wire each name has the prefix ``memory.``"""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rag_top_n: int = _whole(5, 1, 50, _("Number of atomic memories included in the prompt."))
    rounds_top_n: int = _whole(2, 0, 10, _("Number of past messages with their replies included in the prompt."))
    paused: StrictBool = Field(
        False,
        description=_("Remembers nothing new from what is said. What is remembered is still recalled."),
    )
    remember_assistant: StrictBool = Field(
        True, description=_("Also remembers what the assistant promised, recommended, decided or found out.")
    )
    enable_agentic_search: StrictBool = Field(
        False, description=_("Lets the chat model search memories and past conversations on its own.")
    )
    enable_user_profile: StrictBool = Field(True, description=_("Includes the profile in every prompt."))
    atomic_content_max_length: int = _whole(500, 50, 5000, _("Maximum length of an atomic memory, in characters."))
    session_summary_limit: int = _whole(
        5, 0, 50, _("Number of summaries of earlier conversations included in the prompt.")
    )
    retrieval_limit: int = _whole(5, 1, 50, _("Number of long-term memories included in the prompt."))
    semantic_candidates: StrictBool = Field(True, description=_("Also finds memories with a similar meaning."))
    semantic_min_similarity: Share | None = Field(
        None,
        description=_(
            "Minimum cosine similarity for a match by meaning. Leave empty to use the embedding model's default."
        ),
    )
    candidate_limit: int = _whole(50, 1, 500, _("Number of long-term memories scored per query."))
    max_keywords: int = _whole(10, 1, 50, _("Maximum number of keywords taken from a message."))
    score_weights: ScoreWeights = Field(
        ScoreWeights(), description=_("How much each component counts in the retrieval score.")
    )
    recency_half_life_days: Annotated[float, Field(ge=0.01, le=3650, strict=True)] = Field(
        7, description=_("Days until a memory's recency is halved.")
    )
    context_limit: int = _whole(20, 2, 200, _("Number of earlier messages sent to the model."))
    token_budget: int = _whole(6000, 500, 1_000_000, _("Maximum size of the prompt, in tokens."))
    summary_threshold: int = _whole(20, 4, 500, _("Number of unsummarised messages that triggers a summary."))
    auto_accept_confidence: Share = Field(0.7, description=_("Memories with a lower confidence wait for review."))
    emotion_confidence: Share = Field(
        0.5, description=_("Emotions with a lower confidence do not affect the next reply.")
    )
    similarity_threshold: Share = Field(0.7, description=_("Minimum cosine similarity in a conversation search."))
    working_ttl_minutes: int = _whole(30, 1, 525_600, _("Idle minutes until working memory expires."))
    working_max_bytes: int = _whole(
        65536, 1024, 1_048_576, _("Maximum size of the context variables, in bytes of UTF-8 JSON.")
    )
    working_archive: StrictBool = Field(
        False, description=_("Saves important context as long-term memory when working memory expires.")
    )
    embedding_retention_days: int = _whole(90, 1, 36_500, _("Days until message embeddings are deleted."))
    eviction_threshold: Annotated[int, Field(ge=1, le=10_000_000, strict=True)] | None = Field(
        None, description=_("Maximum number of long-term memories per user. Leave empty for no limit.")
    )
    confidence_floor: Share | None = Field(None, description=_("Memories with a lower confidence are cleaned up."))
    confirm_ends: StrictBool = Field(
        False, description=_("Asks the model a second time before a memory ends. For small models.")
    )
    remembered_feedback: StrictBool = Field(False, description=_("Replies mention what was remembered."))
    auto_context: StrictBool = Field(
        True, description=_("Automatically turns the background of a case into a shared context.")
    )
    tidy_after_hours: Annotated[int, Field(ge=1, le=8760, strict=True)] | None = Field(
        None,
        description=_(
            "Idle hours after which the model tidies up the memories. Leave empty to do so only by hand. "
            "Needs a connected model."
        ),
    )
    tidying_tokens: int = _whole(30_000, 2_000, 1_000_000, _("Maximum size of all prompts of one run, in tokens."))
    sensitive: SensitiveHandling = Field(
        REMEMBER_ALL,
        description=_("What happens to what the assistant learns about these: remembered, reviewed or left out."),
    )
    mask_secrets: StrictBool = Field(
        True, description=_("Masks passwords, keys and card numbers of earlier messages in what models get.")
    )
    mask_secrets_in_exports: StrictBool = Field(
        False, description=_("Masks passwords, keys and card numbers in exported conversations.")
    )
    timezone: str = Field("UTC", description=_("IANA time zone used for dates."))

    @field_validator("timezone")
    @classmethod
    def known_timezone(cls, value: str) -> str:
        if value not in list_timezones():
            raise ValueError("Not an IANA time zone such as Asia/Shanghai.")
        return value

    @property
    def zone(self) -> ZoneInfo:
        """The time zone itself (C8)."""
        return ZoneInfo(self.timezone)


def read_setting_problems(changes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return why `changes` (prefixed names) are not acceptable, by key; empty when all are. None restores a default."""
    problems: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for key, value in changes.items():
        name = key.removeprefix(PREFIX)
        if not key.startswith(PREFIX) or name not in MemorySettings.model_fields:
            problems[key] = ["Unknown setting."]
        elif value is not None:
            values[name] = value
    try:
        MemorySettings.model_validate(values)
    except ValidationError as error:
        for problem in error.errors():
            problems.setdefault(f"{PREFIX}{problem['loc'][0]}", []).append(problem["msg"])
    return problems


class Scope(StrEnum):
    """What a token is good for; each includes the one before."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES: tuple[Scope, ...] = tuple(Scope)


def allows(scopes: Iterable[str], needed: str) -> bool:
    """Whether a token with these scopes may do what needs `needed`; `admin` includes `write`, and `write` `read`."""
    return any(_rank(scope) >= _rank(needed) for scope in scopes if scope in ALL_SCOPES)


def complete_scopes(scopes: Iterable[str]) -> list[str]:
    """Return the scopes with those that they include, weakest first; `ValueError` for none and for an unknown one."""
    highest = max((_rank(scope) for scope in scopes), default=-1)
    if highest < 0:
        raise ValueError("A token needs a scope.")
    return [str(scope) for scope in ALL_SCOPES[: highest + 1]]


def _rank(scope: str) -> int:
    return ALL_SCOPES.index(Scope(scope))


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """How many requests a token may send in each period of so many seconds."""

    requests: int
    seconds: int


_PERIODS = {"sec": 1, "min": 60, "hour": 3600, "day": 86_400}
_LIMIT = re.compile(r"([1-9][0-9]{0,6})/(sec|min|hour|day)", re.ASCII)


def parse_limit(text: str) -> RequestLimit:
    """Return the limit that ``60/min`` states, with sec, min, hour or day; `ValueError` for anything else."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError("Must be a number of requests and a period, such as 60/min (sec, min, hour or day).")
    return RequestLimit(requests=int(match[1]), seconds=_PERIODS[match[2]])
