"""Pure rules of context variables: merging, order of writing, the size limit and eviction (W3, W5, H1, H3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

FORM_PREFIX = "hitl_"


@dataclass(frozen=True, slots=True)
class Variables:
    """Context variables in order of writing, oldest first, with the time (ISO 8601) at which each was written."""

    values: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, values: Mapping[str, Any], written: list[list[Any]]) -> Variables:
        """Restore the order that jsonb lost, also that of a form's fields.

        A value nobody noted the writing of counts as the oldest.
        """
        times = {key: at for key, at, *_names in written if key in values}
        unknown = {key: "" for key in values if key not in times}
        times = {**unknown, **times}
        names = {key: names[0] for key, _at, *names in written if names}
        return cls(values={key: _order_fields(values[key], names.get(key, ())) for key in times}, written=times)

    def dump_written(self) -> list[list[Any]]:
        """Return key and time in order, as kept beside the values; for a form the names of its fields too."""
        return [[key, at, *_list_fields(self.values[key])] for key, at in self.written.items()]

    @property
    def forms(self) -> dict[str, Any]:
        """The submitted forms by title, in order of submission (H3)."""
        return {key.removeprefix(FORM_PREFIX): value for key, value in self.values.items() if is_form(key)}

    @property
    def plain(self) -> dict[str, Any]:
        """The variables that are no forms."""
        return {key: value for key, value in self.values.items() if not is_form(key)}


def holds_form(value: Any) -> bool:
    """Whether a value has the shape of a submitted form (H1)."""
    return isinstance(value, dict) and set(value) == {"fields", "timestamp"} and isinstance(value["fields"], dict)


def _list_fields(value: Any) -> list[list[str]]:
    return [list(value["fields"])] if holds_form(value) else []


def _order_fields(value: Any, names: Iterable[str]) -> Any:
    if not holds_form(value):
        return value
    fields = value["fields"]
    order = {name: fields[name] for name in names if name in fields}
    return {**value, "fields": {**order, **fields}}


def is_form(key: str) -> bool:
    """Whether the variable holds a submitted form (H1)."""
    return key.startswith(FORM_PREFIX)


def measure(values: Mapping[str, Any]) -> int:
    """Return the size of the variables in bytes, as compact UTF-8 JSON (W5)."""
    return len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def write(current: Variables, key: str, value: Any, *, now: datetime, max_bytes: int) -> Variables | None:
    """Return the variables with `key` written last, or None where it cannot be made to fit (W5).

    Over the limit, the least recently written entries make way; forms never do. A value too large even then
    is refused whole, and nothing was evicted for it.
    """
    values = {k: v for k, v in current.values.items() if k != key} | {key: value}
    written = {k: at for k, at in current.written.items() if k != key} | {key: now.isoformat()}
    size = measure(values)
    for oldest in [k for k in values if not is_form(k) and k != key]:
        if size <= max_bytes:
            break
        del values[oldest], written[oldest]
        size = measure(values)
    return Variables(values=values, written=written) if size <= max_bytes else None


def remove(current: Variables, key: str) -> Variables:
    """Return the variables without `key`."""
    return Variables(
        values={k: v for k, v in current.values.items() if k != key},
        written={k: at for k, at in current.written.items() if k != key},
    )


def merge_from_model(current: Variables, changes: Mapping[str, Any], *, now: datetime, max_bytes: int) -> Variables:
    """Merge the model's variables key by key (W3): null removes, forms are not touched, what cannot fit is dropped."""
    for key, value in changes.items():
        if is_form(key):
            continue
        if value is None:
            current = remove(current, key)
        else:
            current = write(current, key, value, now=now, max_bytes=max_bytes) or current
    return current
