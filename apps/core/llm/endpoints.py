"""Models that somebody connected while the program runs, beside what the environment selects.

Who keeps them is not known here: ``MODEL_DIRECTORY`` names the function that finds them (`apps.connections`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, cast

from django.conf import settings
from django.utils.module_loading import import_string

from apps.core.llm.types import Blame

Kind = Literal["chat", "embedding"]

DEFAULT = ""
"""The key of the model that is asked where none is named."""

CONNECTED = Blame(
    address="its URL (Settings › Models)", key="its API key (Settings › Models)", model="the model's name"
)
CONNECTED_EMBEDDER = replace(CONNECTED, answer="list of embeddings")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model and the server that has it. `name`: what it is called here; `model`: what its server calls it."""

    name: str
    model: str
    base_url: str
    api_key: str = field(repr=False)


class Directory(Protocol):
    """Finds connected models."""

    def __call__(self, kind: Kind, names: Sequence[str]) -> Mapping[str, Endpoint]:
        """Return those of `names` there are, and the default one under `DEFAULT`, if there is one. One query.

        Raises `ModelUnavailable` where the key of one cannot be decrypted.
        """
        ...


def find_endpoints(kind: Kind, *names: str) -> Mapping[str, Endpoint]:
    """Ask the directory; see `Directory`. Not from an event loop."""
    directory = cast(Directory, import_string(settings.MODEL_DIRECTORY))
    return directory(kind, [name for name in names if name])
