"""The editors of what is remembered, one form a kind: they check how things are typed, services what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.accounts.types import Sensitive
from apps.core.times import MOMENT, end_of_day
from apps.core.words import word
from apps.memory.models import Category
from apps.panel.texts import NotJson, read_tags, read_value, write_tags, write_value


class Editor(forms.Form):
    """Common to every kind. ``version``: the state of what was being edited, empty for something new."""

    version = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_version(self) -> datetime:
        """Return the time of the state; for anything else one at which nothing was changed."""
        try:
            return datetime.fromisoformat(self.cleaned_data["version"])
        except ValueError:
            return datetime.min.replace(tzinfo=UTC)

    def list_changes(self) -> dict[str, Any]:
        """Return what was typed that is not what the form began with."""
        return {name: self.cleaned_data[name] for name in self.changed_data if name not in ("version", "owner")}

    @staticmethod
    def read(row: Any) -> dict[str, Any]:
        """Return what the form begins with for a row."""
        raise NotImplementedError


class OwnerField(forms.CharField):
    """Whose memory it will be, by user name; only staff are asked."""

    def __init__(self) -> None:
        super().__init__(label=_("User"), max_length=150)

    def clean(self, value: Any) -> Any:
        name = super().clean(value)
        user = User.objects.filter(username=name, is_active=True).first()
        if user is None:
            raise ValidationError(_("No user has this username."))
        return user


class LinesField(forms.CharField):
    """A text of several lines, which browsers send with line ends of their own."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class TagsField(forms.CharField):
    """Tags with commas between them, Chinese ones too."""

    def clean(self, value: Any) -> list[str]:
        return read_tags(super().clean(value))

    def prepare_value(self, value: Any) -> Any:
        return write_tags(value) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.clean(data or "") != list(initial or [])


class LastDayField(forms.DateField):
    """The last day on which something holds (D3), in the zone of the page; stored is the last moment of it."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Valid until"),
            required=False,
            help_text=_("The last day on which it holds. After that it is kept and shown, but no longer recalled."),
            widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        )

    def prepare_value(self, value: Any) -> Any:
        # What ends at midnight ends with the day before.
        return (timezone.localtime(value) - MOMENT).date() if isinstance(value, datetime) else value

    def clean(self, value: Any) -> datetime | None:
        day = super().clean(value)
        try:
            return end_of_day(day, timezone.get_current_timezone()) if day else None
        except ValueError as error:
            raise ValidationError(_("Out of range: it has no valid date in some time zones.")) from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class MarksField(forms.MultipleChoiceField):
    """The sensitive categories that a memory is marked with (D4)."""

    def __init__(self) -> None:
        super().__init__(
            label=pgettext_lazy("memory", "Sensitive"),
            required=False,
            choices=lambda: [(one.value, word("sensitive", one)) for one in Sensitive],
            widget=forms.CheckboxSelectMultiple,
        )


class LongTermEditor(Editor):
    category = forms.ChoiceField(label=_("Category"), choices=Category.choices, initial=Category.FACT)
    key = forms.CharField(label=_("Key"), strip=True, widget=forms.TextInput({"autocomplete": "off", "dir": "auto"}))
    value = LinesField(
        label=_("Value"), strip=False, widget=forms.Textarea({"rows": 2, "data-value": "", "dir": "auto"})
    )
    confidence = forms.FloatField(
        label=_("Confidence"),
        initial=1.0,
        min_value=0,
        max_value=1,
        widget=forms.NumberInput({"type": "range", "min": "0", "max": "1", "step": "0.01", "data-share": ""}),
    )
    valid_until = LastDayField()
    sensitive = MarksField()

    def clean_value(self) -> Any:
        try:
            return read_value(self.cleaned_data["value"])
        except NotJson as error:
            place = {"line": error.line, "column": error.column}
            text = gettext(
                "Invalid JSON at line %(line)s, column %(column)s. Put the value in quotes to save it as text."
            )
            raise ValidationError(text % place) from error

    @staticmethod
    def read(row: Any) -> dict[str, Any]:
        return {
            "version": row.updated_at.isoformat(),
            "category": row.category,
            "key": row.key,
            "value": write_value(row.value),
            "confidence": round(row.confidence, 2),
            "valid_until": row.valid_until,
            "sensitive": list(row.sensitive),
        }


class AtomicEditor(Editor):
    content = LinesField(label=_("Content"), widget=forms.Textarea({"rows": 3, "dir": "auto"}))
    tags = TagsField(label=_("Tags"), required=False, help_text=_("Separate tags with commas."))
    valid_until = LastDayField()
    sensitive = MarksField()

    @staticmethod
    def read(row: Any) -> dict[str, Any]:
        return {
            "version": row.updated_at.isoformat(),
            "content": row.content,
            "tags": list(row.tags),
            "valid_until": row.valid_until,
            "sensitive": list(row.sensitive),
        }


class ProposalEditor(Editor):
    """Of a change that is proposed for the profile."""

    text = LinesField(label=_("Content"), widget=forms.Textarea({"rows": 3, "dir": "auto"}))

    @staticmethod
    def read(row: Any) -> dict[str, Any]:
        return {"text": row.text}


EDITORS: Mapping[str, type[Editor]] = {"long_term": LongTermEditor, "atomic": AtomicEditor, "profile": ProposalEditor}
