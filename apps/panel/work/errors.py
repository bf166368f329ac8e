"""What the names of errors in the queue mean, and what can be done about them (`apps.conversations.worker`)."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.conversations.queue import WORKER_LOST


@dataclass(frozen=True, slots=True)
class Explanation:
    """In words: what happened, and what to do."""

    meaning: str
    advice: str


def explain_error(error: str) -> Explanation | None:
    """The words for an error's name, such as ``model_unavailable: refused 400``; None where there is no error."""
    if not error:
        return None
    code, _colon, details = error.partition(": ")
    reason, _space, status = details.partition(" ")
    if code == "model_unavailable":
        return _explain_model(reason, status)
    if code == WORKER_LOST:
        return Explanation(
            _("The worker was killed each time, most likely because it ran out of memory."),
            _("Add memory to the server or use a smaller model, then try again."),
        )
    if code in ("invalid", "too_large"):
        return Explanation(
            _("The result was not a valid memory."),
            _("Try again, because a model's answers vary. If it keeps failing, check the message itself."),
        )
    return Explanation(
        _("An unexpected error occurred."),
        _("Try again. If it keeps failing, look for this name in the server log and report the bug."),
    )


def _explain_model(reason: str, status: str) -> Explanation:
    if status in ("401", "403"):
        return Explanation(
            _("The model server rejected the API key."),
            _("Check the API key in Settings › Models, or OPENAI_API_KEY, then try again."),
        )
    if status == "402":
        return Explanation(
            _("The model provider requires payment."), _("Check your account with the provider, then try again.")
        )
    if status == "404" or reason == "no_model":
        return Explanation(
            _("The model server does not know this model or URL."),
            _("Check the model in Settings › Models, or OPENAI_BASE_URL and CHAT_MODEL, then try again."),
        )
    match reason:
        case "unreachable":
            return Explanation(
                _("The model server could not be reached."),
                _("Start it, or check its URL in Settings › Models or OPENAI_BASE_URL, then try again."),
            )
        case "rate_limited":
            return Explanation(
                _("The model server received too many requests."), _("Wait a while or raise the limit, then try again.")
            )
        case "timeout":
            return Explanation(
                _("The model took too long to answer."), _("Try again when it is less busy, or use a faster model.")
            )
        case "dropped" | "server_error":
            return Explanation(
                _("The model server cut off its answer."), _("Check the model server's log, then try again.")
            )
        case "cut_off":
            return Explanation(
                _("The model's answer reached its limit of tokens."), _("Raise BACKGROUND_MAX_TOKENS, then try again.")
            )
        case "only_reasoning":
            return Explanation(
                _("The model gave only reasoning, and no answer."),
                _("Turn reasoning off or choose another model, then try again."),
            )
        case "reasoning_limit":
            return Explanation(
                _("The model spent its limit of tokens on reasoning."),
                _("Turn reasoning off, or raise CHAT_MAX_TOKENS and BACKGROUND_MAX_TOKENS, then try again."),
            )
        case "refused" | "too_long":
            return Explanation(
                _("The model server refused the request."),
                _("The text is often too long for the model. Use a model with a longer context, then try again."),
            )
    return Explanation(_("The model's answer could not be used."), _("Try again, because a model's answers vary."))
