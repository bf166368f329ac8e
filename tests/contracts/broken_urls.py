"""The product's addresses, and one whose view breaks down."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from project.urls import handler400, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler404", "handler500", "urlpatterns"]


def break_down(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("as a mistake of ours would")


urlpatterns = [*urlpatterns, path("broken", break_down)]
