"""Google Takeout's activity of Gemini ("My Activity"), as JSON or as a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from html import unescape
from typing import Any

from apps.doors.imports.formats.base import Clue, Format, Item, LeftOut, Omission
from apps.doors.imports.formats.base import gettext_noop as _
from apps.doors.imports.formats.uploads import CELL, Upload, read_nodes, read_objects
from apps.doors.imports.formats.values import Draft, as_list, as_object, name_source, read_text, read_time, read_title


class Gemini(Format):
    """A prompt with its answer in each record, newest first.

    A record may link to its conversation. The others make one with what was asked within half an hour.
    """

    name = "gemini"
    label = "Gemini"
    description = _("Gemini activity from Google Takeout (the archive, JSON or HTML)")

    def score(self, clue: Clue) -> float:
        return 0.9 if _is_of_gemini(_read_record(clue.found)) else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the conversations, from the oldest, then how many records are something else."""
        prompts: list[_Prompt] = []
        others = 0
        for member in (*upload.members, *upload.pages):
            with upload.open_text(member) as text:
                for value in read_objects(read_nodes(text)):
                    record = _read_record(as_object(value))
                    if prompt := _read_prompt(record) if _is_of_gemini(record) else None:
                        prompts.append(prompt)
                    else:
                        others += 1
        yield from _make_conversations(prompts[::-1])
        if others:
            yield Omission(LeftOut.UNSUPPORTED, label="My Activity", count=others)


@dataclass(frozen=True, slots=True)
class _Prompt:
    said_at: datetime | None
    text: str
    answer: str
    attachments: int
    link: str


_PAUSE = timedelta(minutes=30)
_BEGINNING = datetime.min.replace(tzinfo=UTC)
_LINK = re.compile(r"https://gemini\.google\.com/app/(?P<id>[\w-]+)")
# What precedes a prompt in its title, and the verbs of what is none.
_ASKED = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Branched|Answered|送信したメッセージ:)\s")
_DONE = re.compile(r"(?:Added|Cleared|Created|Deleted|Gave|Selected|Shared|Used|Viewed)\s")
_ATTACHED = re.compile(r"(?:Attached (?P<files>\d{1,3}) files?|\b(?P<count>\d{1,3}) attachments?)\.(?:\n.*)*\Z")


def _is_of_gemini(record: Mapping[str, Any]) -> bool:
    names = str([record.get("header"), record.get("products")]).lower()
    return "title" in record and "time" in record and ("gemini" in names or "bard" in names)


def _read_prompt(record: Mapping[str, Any]) -> _Prompt | None:
    """Return a prompt; None for what the person did otherwise. In other languages a prompt is what has an answer."""
    items = map(as_object, as_list(record.get("safeHtmlItem")))
    answer = "\n\n".join(filter(None, (_read_html(read_text(item.get("html"))) for item in items)))
    title = read_text(record.get("title")).replace("\xa0", " ")
    asked = _ASKED.match(title)
    if _DONE.match(title) or not (asked or answer):
        return None
    text = title[asked.end() :] if asked else title
    files = len(as_list(record.get("attachedFiles")))
    if attached := _ATTACHED.search(text):
        text, files = text[: attached.start()], int(attached["files"] or attached["count"])
    link = _LINK.search(str(record.get("details")))
    return _Prompt(read_time(record.get("time")), text.strip(), answer, files, link["id"] if link else "")


def _make_conversations(prompts: Sequence[_Prompt]) -> Iterator[Item]:
    groups: dict[str, list[_Prompt]] = {}
    last, group = _BEGINNING, ""
    for prompt in sorted(prompts, key=lambda prompt: prompt.said_at or _BEGINNING):
        if not prompt.link:
            said_at = prompt.said_at or _BEGINNING
            if not group or not prompt.said_at or said_at - last > _PAUSE:
                group = name_source(said_at, prompt.text)
            last = said_at
        groups.setdefault(prompt.link or group, []).append(prompt)
    for name, told in groups.items():
        draft = Draft()
        for prompt in told:
            source = name_source(prompt.said_at, prompt.text)
            files = prompt.attachments
            draft.say("user", prompt.text, said_at=prompt.said_at, source_id=f"{source}?", attachments=files)
            if prompt.answer:
                draft.say("assistant", prompt.answer, said_at=prompt.said_at, source_id=source)
        yield draft.finish(title=read_title(told[0].text.partition("\n")[0]), source_id=name)


# HTML

_BREAK = re.compile(r"<(?:br|/?(?:blockquote|div|h\d|ol|p|pre|table|tr|ul))\b[^<>]*>")
_TAG = re.compile(r"<[^<>]*>")
_TIME = re.compile(r"<br\s*/?>\s*(?P<time>[^<>]{8,40}?\d\d?:\d\d:\d\d[^<>]{0,20})(?=<br\s*/?>)")
_ENGLISH = re.compile(
    r"(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d\d?), (?P<year>\d{4}), (?P<hour>\d\d?)(?P<rest>:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))?(?: (?:GMT|UTC)?(?P<zone>[A-Z]{3}|[+-]\d\d:?\d\d)?)?"
)


def _read_html(html: str) -> str:
    """Return the words of a piece of HTML, with its lines and lists and without its other forms."""
    text = unescape(_TAG.sub("", _BREAK.sub("\n", html.replace("<li>", "\n- "))))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()


def _read_record(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record; one of a page in the form that it has in JSON."""
    cell = found.get(CELL)
    if not isinstance(cell, str):
        return found
    header = cell.partition('title">')[2].partition("<")[0]
    # The title, a line with the time, and what was answered.
    body = cell.partition('body-1">')[2].partition('<div class="content-cell')[0]
    times = {line: _read_english_time(unescape(line["time"])) for line in _TIME.finditer(body)}
    if not times:
        return {}
    line = next((line for line, time in times.items() if time), next(iter(times)))
    title, answer = body[: line.start()], body[line.end() :]
    items = [{"html": answer}]
    return {"header": header, "title": _read_html(title), "time": times[line], "safeHtmlItem": items, "details": cell}


def _read_english_time(text: str) -> str:
    """Return a time such as "Mar 3, 2026, 6:25:05 PM PDT" in ISO 8601; "" for anything else."""
    found = _ENGLISH.fullmatch(" ".join(text.split()))
    if found is None:
        return ""
    hour = int(found["hour"]) % 12 + 12 * (found["half"] == "PM") if found["half"] else int(found["hour"])
    zone = (found["zone"] or "UTC").replace(":", "")
    parsed = parsedate_tz(f"{found['day']} {found['month']} {found['year']} {hour}{found['rest']} {zone}")
    if parsed is None:
        return ""
    try:
        return datetime(*parsed[:6], tzinfo=timezone(timedelta(seconds=parsed[9] or 0))).isoformat()
    except ValueError:
        return ""
