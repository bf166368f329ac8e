"""JSON as people read it."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder


class ReadableJSONEncoder(DjangoJSONEncoder):
    """Writes 蓝色 and not \\u84dd\\u8272; the admin shows JSON fields with their own encoder."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "ensure_ascii": False})
