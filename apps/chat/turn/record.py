"""What is kept of a turn's context: references, revisions and figures, from which it can be rebuilt, and no text (M6).

`apps.chat.inspection` rebuilds it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.utils.crypto import salted_hmac

from apps.chat.answer import NO_ANALYSIS, Analysis
from apps.chat.context.build import assemble
from apps.chat.context.types import ClientPrompt
from apps.chat.turn.types import OpenTurn
from apps.chat.types import COMPOSED
from apps.memory.selectors import WorkingMemorySnapshot

NOT_KEPT = "(instructions of the application, not kept)"
"""What stands in a rebuilt prompt for a client's system messages, which are the application's and not the person's."""

DIGEST_CHARS = 32
"""128 bits: what is compared with it was made by us."""


def describe_layers(turn: OpenTurn) -> list[dict[str, Any]]:
    """Return what each layer held, by reference, and a digest of its text, a client's instructions left out."""
    given = turn.context.given
    kept = turn.context.layers
    if given.client and given.client.instructions:
        client = replace(given.client, instructions=NOT_KEPT)
        kept = assemble(replace(given, client=client)).layers
    return [
        {
            "index": layer.index,
            "name": layer.name,
            "tokens": layer.tokens,
            "refs": list(layer.refs),
            "digest": digest_layer(user_id=turn.user.pk, content=kept_layer.content),
        }
        for layer, kept_layer in zip(turn.context.layers, kept, strict=True)
    ]


def describe_sources(
    turn: OpenTurn, *, analysis: Analysis | None, working: WorkingMemorySnapshot | None
) -> dict[str, Any]:
    """Return under what the context was made, and the revisions of what it was made from.

    `opened_at`: when that was read. `now`, `zone`: the time as the model saw it. `settings`: those that were not
    at their default. `profile`: its version. `entries`: how many each shared context had. `days`: of each session's
    summary. `working` and `working_after`: the revisions before the turn and with what it found (`working`, None where
    it is gone). `answer`: whether the model's answer could be read as JSON, or was taken as text, or "composed" where
    no model was asked. `everything`: whether the prompt held all that is remembered, as the message asked for it.
    `temporary`: whether it said that nothing is kept (C7). `tools`: those that the model could call. `files`: how much
    of each attached file was shown.
    `client`: what a client of the OpenAI-compatible endpoint brought along (T3), None for the others.
    """
    given = turn.context.given
    return {
        "opened_at": turn.opened_at.astimezone(UTC).isoformat(),
        "now": given.now.isoformat(),
        "zone": turn.settings.timezone,
        "budget": given.budget,
        "context_limit": given.context_limit,
        "settings": turn.settings.model_dump(mode="json", exclude_defaults=True),
        "emotions": list(given.emotions),
        "profile": given.profile.version if given.profile else None,
        "entries": {case.id: len(case.entries) for case in given.cases},
        "days": {note.id: note.day.isoformat() for note in given.session_notes},
        "working": _describe_working(turn.working),
        "working_after": _describe_working(working),
        "cut": [{"kind": cut.kind, "tokens": cut.tokens, "refs": list(cut.refs)} for cut in turn.context.cut],
        "answer": _describe_answer(turn, analysis),
        "everything": given.everything,
        "temporary": given.temporary,
        "tools": list(given.tools),
        "files": [{"id": file.id, "chars": len(file.text)} for file in given.files],
        "client": _describe_client(given.client),
    }


def _describe_client(client: ClientPrompt | None) -> dict[str, bool] | None:
    if client is None:
        return None
    return {
        "instructions": bool(client.instructions),
        "history": client.history is not None,
        "relayed": client.relayed,
    }


def _describe_answer(turn: OpenTurn, analysis: Analysis | None) -> str | None:
    if turn.reply is not None:
        return COMPOSED
    if analysis is None:
        return None
    return "text" if analysis is NO_ANALYSIS else "json"


def digest_layer(*, user_id: int, content: str) -> str:
    """Return what tells whether a rebuilt layer is the one that was sent.

    Keyed with the installation's secret and the person, so that no text can be guessed from it (L6).
    """
    return salted_hmac(f"jiyi.layer.{user_id}", content, algorithm="sha256").hexdigest()[:DIGEST_CHARS]


def _describe_working(working: WorkingMemorySnapshot | None) -> dict[str, Any] | None:
    """Name a revision of a working memory; `empty`: it said nothing, so that nothing of it can have been deleted."""
    if working is None:
        return None
    return {
        "started_at": _write(working.created_at),
        "revision": working.revision,
        "empty": not (working.current_topic or working.variables.values),
    }


def _write(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()
