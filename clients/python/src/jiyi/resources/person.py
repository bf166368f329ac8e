"""The person whose memory it is: profile, summaries, settings, webhooks, and all of their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jiyi._decoding import Into, Number, PageOf, read_object
from jiyi._requests import (
    UNSET,
    Request,
    Resource,
    Transport,
    Unset,
    all_pages,
    call,
    delete,
    get,
    patch,
    post,
    put,
    unless_none,
)
from jiyi.types import (
    Costs,
    Delivery,
    Page,
    Profile,
    Receipt,
    SessionSummary,
    Webhook,
    WebhookEvent,
    WebhookWithSecret,
)


class Profiles(Resource[Transport]):
    """The profile document."""

    @call
    def get(self) -> Request[Profile]:
        """Return the profile."""
        return get("/profile", Into(Profile))

    @call
    def replace(
        self,
        *,
        reply_style: str | None = None,
        language_habits: str | None = None,
        background: str | None = None,
        sections: Mapping[str, str | None] | None = None,
    ) -> Request[Profile]:
        """Write the whole profile; what is left out is emptied."""
        return put("/profile", Into(Profile), body=_sections(reply_style, language_habits, background, sections))

    @call
    def update(
        self,
        *,
        reply_style: str | None = None,
        language_habits: str | None = None,
        background: str | None = None,
        sections: Mapping[str, str | None] | None = None,
    ) -> Request[Profile]:
        """Write some of the profile. `sections` are merged by name; None or a blank text removes one."""
        return patch("/profile", Into(Profile), body=_sections(reply_style, language_habits, background, sections))

    @call
    def delete(self) -> Request[int]:
        """Delete the profile with all its versions. Returns the number of documents."""
        return delete("/profile", Number("deleted"))

    @call
    def accept_proposal(self, proposal_id: str) -> Request[Profile]:
        """Accept a change that the assistant proposed."""
        return post("/profile/proposals/{proposal_id}/accept", Into(Profile), proposal_id=proposal_id)

    @call
    def reject_proposal(self, proposal_id: str) -> Request[Profile]:
        """Reject a change that the assistant proposed."""
        return post("/profile/proposals/{proposal_id}/reject", Into(Profile), proposal_id=proposal_id)


class Summaries(Resource[Transport]):
    """Summaries of sessions."""

    @call
    def create(self, *, session_id: str, title: str, snippet: str) -> Request[SessionSummary]:
        """Write the summary of a session."""
        body = {"session_id": session_id, "title": title, "snippet": snippet}
        return post("/summaries", Into(SessionSummary), body=body)

    @call
    def list(
        self,
        *,
        space: str | None = None,
        ordering: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[SessionSummary]]:
        """Return a page of the summaries, newest first. `space`: an ID or a name, or "none"."""
        query = {"space": space, "ordering": ordering, "limit": limit, "offset": offset}
        return get("/summaries", PageOf(SessionSummary), query=query)

    iterate = all_pages(list)

    @call
    def get(self, summary_id: str) -> Request[SessionSummary]:
        """Return one summary."""
        return get("/summaries/{summary_id}", Into(SessionSummary), summary_id=summary_id)

    @call
    def replace(self, summary_id: str, *, title: str, snippet: str) -> Request[SessionSummary]:
        """Write a summary as a whole."""
        body = {"title": title, "snippet": snippet}
        return put("/summaries/{summary_id}", Into(SessionSummary), body=body, summary_id=summary_id)

    @call
    def update(
        self, summary_id: str, *, title: str | None = None, snippet: str | None = None
    ) -> Request[SessionSummary]:
        """Change the title or the text of a summary."""
        body = {"title": unless_none(title), "snippet": unless_none(snippet)}
        return patch("/summaries/{summary_id}", Into(SessionSummary), body=body, summary_id=summary_id)

    @call
    def delete(self, summary_id: str) -> Request[int]:
        """Delete a summary. Returns the number of summaries."""
        return delete("/summaries/{summary_id}", Number("deleted"), summary_id=summary_id)


class Webhooks(Resource[Transport]):
    """Addresses to which signed events are sent."""

    @call
    def list(self, *, limit: int | None = None, offset: int | None = None) -> Request[Page[Webhook]]:
        """Return a page of the webhooks, in the order in which they were made."""
        return get("/webhooks", PageOf(Webhook), query={"limit": limit, "offset": offset})

    iterate = all_pages(list)

    @call
    def create(
        self, *, url: str, events: Sequence[WebhookEvent], space: str | None = None, enabled: bool = True
    ) -> Request[WebhookWithSecret]:
        """Add a webhook; only this answer has its secret. Raises `Conflict` where the server has webhooks off."""
        body = {"url": url, "events": [*events], "space": space, "enabled": enabled}
        return post("/webhooks", Into(WebhookWithSecret), body=body)

    @call
    def get(self, webhook_id: str) -> Request[Webhook]:
        """Return one webhook."""
        return get("/webhooks/{webhook_id}", Into(Webhook), webhook_id=webhook_id)

    @call
    def update(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        events: Sequence[WebhookEvent] | None = None,
        space: str | Unset | None = UNSET,
        enabled: bool | None = None,
    ) -> Request[Webhook]:
        """Change a webhook. A space of None: it receives what is in any."""
        body = {
            "url": unless_none(url),
            "events": UNSET if events is None else [*events],
            "space": space,
            "enabled": unless_none(enabled),
        }
        return patch("/webhooks/{webhook_id}", Into(Webhook), body=body, webhook_id=webhook_id)

    @call
    def delete(self, webhook_id: str) -> Request[int]:
        """Delete a webhook and what waits to be sent to it. Returns the number of webhooks."""
        return delete("/webhooks/{webhook_id}", Number("deleted"), webhook_id=webhook_id)

    @call
    def rotate_secret(self, webhook_id: str) -> Request[WebhookWithSecret]:
        """Replace the secret; only this answer has the new one, which signs all that is sent from now on."""
        return post("/webhooks/{webhook_id}/rotate-secret", Into(WebhookWithSecret), webhook_id=webhook_id)

    @call
    def test(self, webhook_id: str) -> Request[Delivery]:
        """Send a test event at once; the answer says whether it arrived. Raises `Conflict` where webhooks are off."""
        return post("/webhooks/{webhook_id}/test", Into(Delivery), webhook_id=webhook_id)

    @call
    def deliveries(
        self, webhook_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Request[Page[Delivery]]:
        """Return a page of what was sent to it in the last week and of what waits, newest first."""
        query = {"limit": limit, "offset": offset}
        return get("/webhooks/{webhook_id}/deliveries", PageOf(Delivery), query=query, webhook_id=webhook_id)

    iterate_deliveries = all_pages(deliveries)


class Settings(Resource[Transport]):
    """Settings of the memory, by name: `memory.retrieval_limit` and so on (G1)."""

    @call
    def get(self) -> Request[dict[str, Any]]:
        """Return the settings in effect."""
        return get("/memory/settings", read_object)

    @call
    def update(self, changes: Mapping[str, Any]) -> Request[dict[str, Any]]:
        """Change settings, and return those in effect. None restores a default; with any bad one nothing changes."""
        return patch("/memory/settings", read_object, body=changes)


class Account(Resource[Transport]):
    """All data of the person."""

    @call
    def export(self) -> Request[dict[str, Any]]:
        """Return everything that is remembered, table by table (R2)."""
        return get("/memory/export", read_object)

    @call
    def costs(self, *, days: int | None = None) -> Request[Costs]:
        """Return what models cost in the last `days`, 30 by default, and how the monthly budget stands (Q1)."""
        return get("/memory/costs", Into(Costs), query={"days": days})

    @call
    def erase(self, *, confirm: str) -> Request[Receipt]:
        """Erase everything that is remembered; the account and its tokens stay (R3). `confirm` is the username."""
        return post("/memory/erase", Into(Receipt), body={"confirm": confirm})


def _sections(
    reply_style: str | None,
    language_habits: str | None,
    background: str | None,
    sections: Mapping[str, str | None] | None,
) -> dict[str, Any]:
    return {
        "reply_style": unless_none(reply_style),
        "language_habits": unless_none(language_habits),
        "background": unless_none(background),
        "sections": unless_none(sections),
    }
