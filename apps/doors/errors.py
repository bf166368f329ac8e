"""What Django itself answers, in the shape of the door that was asked: that of OpenAI under ``/v1/``."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse, JsonResponse

from apps.core import http
from apps.doors.openai.base import encode_error

OPENAI_ROOT = "/v1/"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django refuses: a host it does not serve, too many parameters."""
    return _reshape(request, http.bad_request(request, exception))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404."""
    return _reshape(request, http.page_not_found(request, exception))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500."""
    return _reshape(request, http.server_error(request))


def too_many_refused(request: HttpRequest, wait: int) -> HttpResponse:
    """Answer 429 to somebody who sent too many wrong tokens; `wait`: seconds until the next is looked at."""
    message = f"Too many requests with a wrong token came from your address. Try again in {wait} seconds."
    answer = _reshape(request, JsonResponse(http.error_body("throttled", message), status=429))
    answer["Retry-After"] = str(wait)
    return answer


def _reshape(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if not request.path.startswith(OPENAI_ROOT):
        return response
    error = json.loads(response.content)["error"]
    return JsonResponse(encode_error(response.status_code, error), status=response.status_code)
