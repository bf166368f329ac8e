"""The extraction job: read what was claimed, ask once, carry out the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime

from django.conf import settings as django_settings
from django.db.models import Q
from django.utils import timezone

from apps.accounts.selectors import get_settings
from apps.conversations.models import Message, MessageStatus, Role
from apps.conversations.queue import EXTRACTED_CHARACTERS, SessionClaim
from apps.conversations.worker import finish
from apps.core.db import release_connections
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import ask_for_object
from apps.core.llm.embedding import split_text
from apps.core.llm.types import ModelRequest
from apps.core.text.commands import CommandKind, read_message
from apps.core.text.grounding import is_grounded
from apps.core.text.secrets import mask_secrets
from apps.core.text.sentences import cut_client_blocks
from apps.extraction.prompt import (
    ExtractionAnswer,
    ProfileAnswer,
    PromptLine,
    copies_example,
    make_request,
    read_answer,
)
from apps.extraction.verdicts import ExtractionInput, confirm_ends, read_operations, read_statements
from apps.memory.changes.records import Origin, changed_by
from apps.memory.commands import forget_learned, run_commands
from apps.memory.contexts import record_context
from apps.memory.entries import record_entries
from apps.memory.judge.known import list_known_memories, list_paraphrases
from apps.memory.judge.types import JudgedOperation, JudgedStatement, Relation, Said
from apps.memory.judge.verdicts import record_verdicts
from apps.memory.keyed import ProposedEntry
from apps.profile.document import REPLY_STYLE, ProposedSection
from apps.profile.services import get_user_profile, propose_sections

# Messages before the claimed ones that the model is shown, to understand those.
EARLIER_MESSAGES = 6
# The beginning of each reply and each earlier message that is shown, and of a reply that may become memory itself.
REPLY_CHARACTERS, TOLD_CHARACTERS = 1_000, 2_000
# How much of all that a model is shown at once, the next smaller where it says that this was too long for it.
SHARES = (1.0, 0.5, 0.25, 0.125)


def extract(claim: SessionClaim) -> None:
    """Turn the claimed messages into memories, profile statements and shared context (A2, L3, U3, X1).

    One model call, or a few for a long message, with no transaction open. Raises `ModelUnavailable` when it fails or is
    no JSON: all is to be tried again. What is in the answer but not valid is left out.
    """
    now = timezone.now()
    _remember_as_asked(claim, now=now)
    given, answer = _hear(claim, now=now)
    statements = _let_paraphrases_pass(read_statements(answer.memories, given=given), given)
    operations = read_operations(answer.changes, given=given)
    if given.settings.confirm_ends:
        statements, operations = confirm_ends(statements, operations, known=given.known)
    with finish(claim), changed_by(origin=Origin.EXTRACTION, actor=None):
        _write(claim, given, answer, statements, operations, now=timezone.now())


def _hear(claim: SessionClaim, *, now: datetime) -> tuple[ExtractionInput, ExtractionAnswer]:
    """Return what the model was shown and its answer, in as many calls as what was said takes."""
    for share in SHARES:
        given = _read_input(claim, share=share)
        try:
            return given, _ask_in_parts(claim, given, limit=int(EXTRACTED_CHARACTERS * share), now=now)
        except ModelUnavailable as error:
            if error.fields.get("reason") != "too_long" or share == SHARES[-1]:
                raise
    raise AssertionError("the last share returns or raises")


def _ask_in_parts(claim: SessionClaim, given: ExtractionInput, *, limit: int, now: datetime) -> ExtractionAnswer:
    answer = ExtractionAnswer()
    for lines in _split(given.lines, limit=limit) if given.said else ():
        part = read_answer(ask_for_object(_ask(claim, given, lines=lines, changed=answer.profile, now=now)))
        for name in ("memories", "changes", "entries", "profile"):
            getattr(answer, name).extend(getattr(part, name))
        answer.context = answer.context or part.context
    return answer


def _split(lines: Sequence[PromptLine], *, limit: int) -> list[list[PromptLine]]:
    """Cut what is shown into parts with at most `limit` characters of the person's, none without any."""
    parts: list[list[PromptLine]] = [[]]
    used = 0
    for line in lines:
        is_said = line.role == Role.USER
        for text in split_text(line.text, max_characters=limit) if is_said else [line.text]:
            if is_said and used and used + len(text) > limit:
                parts.append([])
                used = 0
            parts[-1].append(replace(line, text=text))
            used += len(text) if is_said else 0
    return [part for part in parts if any(line.role == Role.USER for line in part)]


def _remember_as_asked(claim: SessionClaim, *, now: datetime) -> None:
    """Keep word for word what recorded messages say is to be remembered (L9): no turn has done it, as for others.

    Before the model is asked, so that it is shown what is remembered now. Done again, it does nothing twice.
    """
    recorded = [item.message_id for item in claim.work if item.recorded]
    if not recorded:
        return
    settings = get_settings(claim.user)
    for message in Message.objects.filter(user=claim.user, id__in=recorded).order_by("position"):
        # What a recorded message ends is for the extraction to judge.
        reading = read_message(cut_client_blocks(message.content), before=_list_said_before(message))
        commands = [command for command in reading.commands if command.kind is CommandKind.REMEMBER]
        said = Said(message.id, message.session_id, message.create_time)
        run_commands(user=claim.user, commands=commands, said=said, settings=settings, now=now)


def _list_said_before(message: Message) -> list[str]:
    """What the person said just before a message of their session, oldest first."""
    said = Message.objects.filter(
        user=message.user_id, session=message.session_id, role=Role.USER, position__lt=message.position
    )
    return list(said.order_by("-position").values_list("content", flat=True)[:EARLIER_MESSAGES])[::-1]


def _read_input(claim: SessionClaim, *, share: float) -> ExtractionInput:
    settings = get_settings(claim.user)
    rounds = Q(id__in=claim.message_ids) | Q(reply_to__in=claim.message_ids)
    complete = Message.objects.filter(user=claim.user, status=MessageStatus.COMPLETE)
    messages = list(complete.filter(rounds).order_by("position"))
    first = min((message.position for message in messages), default=0)
    before = list(
        # What was said while remembering was paused teaches nothing as context, either (D5).
        complete.filter(session=claim.session_id, position__lt=first, paused_by="").order_by("-position")[
            :EARLIER_MESSAGES
        ]
    )
    for message in (*messages, *before):
        if message.role == Role.USER:  # here and for all that follows, what clients put around it was not said
            message.content = cut_client_blocks(message.content)
        if settings.mask_secrets:  # nothing of it is saved
            message.content = mask_secrets(message.content)
    lines, said, told = list[PromptLine](), dict[int, Message](), dict[int, Message]()
    longest = TOLD_CHARACTERS if settings.remember_assistant else REPLY_CHARACTERS
    numbers = {message.id: number for number, message in enumerate(messages, start=1)}
    for message in messages:
        number = numbers[message.id]
        lines.append(_make_line(message, number=number, longest=int(longest * share)))
        if message.role == Role.USER and message.content:
            said[number] = message
        elif message.role == Role.ASSISTANT and settings.remember_assistant:
            told[number] = message
            if message.reply_to_id in numbers:
                told[numbers[message.reply_to_id]] = message
    return ExtractionInput(
        lines=lines,
        earlier=[_make_line(message, longest=int(REPLY_CHARACTERS * share)) for message in reversed(before)],
        replies="\n".join(message.content for message in [*before, *messages] if message.role != Role.USER),
        said=said,
        told=told,
        recorded=frozenset(item.message_id for item in claim.work if item.recorded),
        known=list_known_memories(
            claim.user,
            said=[message.content for message in [*messages, *before]],
            message_ids=claim.message_ids,
            budget=int(django_settings.EXTRACTION_KNOWN_TOKENS * share),
        ),
        settings=settings,
    )


def _make_line(message: Message, *, number: int | None = None, longest: int) -> PromptLine:
    whole = number is not None and message.role == Role.USER
    text = message.content if whole else message.content[:longest]
    return PromptLine(number=number, role=str(message.role), text=text, said_at=message.create_time)


def _ask(
    claim: SessionClaim,
    given: ExtractionInput,
    *,
    lines: Sequence[PromptLine],
    changed: Sequence[ProfileAnswer],
    now: datetime,
) -> ModelRequest:
    """Return the call for `lines`. `changed`: what the parts before said of the profile."""
    profile = get_user_profile(user=claim.user) if given.settings.enable_user_profile else None
    request = make_request(
        lines=lines,
        earlier=given.earlier,
        known=given.known,
        profile={} if profile is None else {**profile.texts, **{item.section: item.text for item in changed}},
        entries=bool(given.recorded),
        context=given.settings.auto_context,
        assistant=given.settings.remember_assistant,
        max_length=given.settings.atomic_content_max_length,
        zone=given.settings.zone,
        now=now,
        guarded=given.settings.sensitive.guarded,
    )
    release_connections()
    return request


def _let_paraphrases_pass(statements: Sequence[JudgedStatement], given: ExtractionInput) -> list[JudgedStatement]:
    """A statement that shares no word with what was said is grounded where it is near to it in meaning.

    What repeats the assistant or the prompt is no paraphrase.
    """
    doubtful = [
        one for one in statements if not (one.grounded or given.is_foreign(one.content, targets=one.verdict.targets))
    ]
    said = [line.text for line in [*given.earlier, *given.lines] if line.role == Role.USER]
    near = list_paraphrases([one.content for one in doubtful], said=said)
    if near is None:
        # Nothing waits for review only because no embedder answers; but what rests on no word ends no memory, either.
        near = {one.content for one in doubtful if one.verdict.relation is not Relation.CONTRADICTS}
    release_connections()
    passed = {id(one) for one in doubtful if one.content in near}
    return [replace(one, grounded=True) if id(one) in passed else one for one in statements]


def _write(
    claim: SessionClaim,
    given: ExtractionInput,
    answer: ExtractionAnswer,
    statements: Sequence[JudgedStatement],
    operations: Sequence[JudgedOperation],
    *,
    now: datetime,
) -> None:
    # Entries first: the value that a message gives a key takes the place of what the same message ends.
    _write_entries(claim, given, answer, now=now)
    record_verdicts(
        user=claim.user,
        statements=statements,
        operations=operations,
        known=given.known,
        max_length=given.settings.atomic_content_max_length,
        auto_accept_confidence=given.settings.auto_accept_confidence,
        sensitive=given.settings.sensitive,
        now=now,
    )
    proposals = [
        ProposedSection(section=item.section, text=item.text, message_id=message.id, said_at=message.create_time)
        for item in answer.profile
        if (claim.user.sight.space is None or item.section == REPLY_STYLE)  # the rest stays in the space (P3)
        and (message := given.said.get(item.about)) is not None
        and is_grounded(item.text, said=given.own)
        and not given.is_borrowed(item.text)
        and not copies_example(item.text, said=given.shown)
    ]
    propose_sections(user=claim.user, proposals=proposals, now=now)
    case = answer.context if given.settings.auto_context else None
    if case is not None and case.about in given.said and not given.is_borrowed(case.content):
        record_context(
            user=claim.user,
            title=case.title,
            content=case.content,
            session_id=claim.session_id,
            message_id=given.said[case.about].id,
            now=now,
        )
    _forget_as_asked(claim, said=[*given.said.values(), *set(given.told.values())], now=now)


def _write_entries(claim: SessionClaim, given: ExtractionInput, answer: ExtractionAnswer, *, now: datetime) -> None:
    """Long-term entries of messages that no turn has read."""
    for number, message in given.said.items():
        if message.id not in given.recorded:
            continue
        names = [field.name for field in fields(ProposedEntry)]
        entries = [
            ProposedEntry(**{name: getattr(entry, name) for name in names})
            for entry in answer.entries
            if entry.about == number and not copies_example(f"{entry.key} {entry.value}", said=given.shown)
        ]
        record_entries(
            user=claim.user,
            entries=entries,
            session_id=message.session_id,
            message_id=message.id,
            said_at=message.create_time,
            message_text=message.content,
            said=given.own,
            others=given.replies,
            auto_accept_confidence=given.settings.auto_accept_confidence,
            sensitive=given.settings.sensitive,
            zone=given.settings.zone,
            now=now,
        )


# Messages of the session after the claimed ones that may ask to forget.
_MOST_LATER = 200


def _forget_as_asked(claim: SessionClaim, *, said: Iterable[Message], now: datetime) -> None:
    """End what was learned from `said` and what a later message of the session asked to forget, done at its turn."""
    read = sorted(said, key=lambda message: message.position)
    if not read:
        return
    later = Message.objects.filter(
        user=claim.user, session=claim.session_id, role=Role.USER, position__gt=read[0].position
    ).order_by("position")
    for message in later[:_MOST_LATER]:
        before = [earlier.id for earlier in read if earlier.position < message.position]
        text = cut_client_blocks(message.content)
        forget_learned(user=claim.user, message_id=message.id, text=text, learned_from=before, now=now)
