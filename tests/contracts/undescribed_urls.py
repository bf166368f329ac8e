"""An address whose view says nothing of itself."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class Undescribed(APIView):
    """A view whose method has no operation."""

    def get(self, request: Request) -> Response:
        return Response({})


urlpatterns = [path("undescribed", Undescribed.as_view()), path("admin/", admin.site.urls)]
