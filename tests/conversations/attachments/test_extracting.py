"""The text of attached files: encodings that people have, PDF files, and what is no text at all."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from apps.conversations.attachments import extracting
from apps.conversations.attachments.extracting import UnreadableAttachment, extract_text

pytestmark = pytest.mark.long_except(
    "test_every_encoding_gives_the_same_text",
    "test_the_pages_of_a_pdf_follow_each_other",
    "test_what_has_no_text_is_refused_with_the_reason",
)

TEXT = "会议纪要：周五发布。\nRelease on Friday, naïve café ☕\n"


def make_pdf(*pages: str, password: str = "") -> bytes:
    """A PDF whose pages say these texts (Latin letters)."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(width=300, height=300)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_every_encoding_gives_the_same_text(encoding: str) -> None:
    assert extract_text(TEXT.encode(encoding)) == TEXT


def test_line_ends_are_one_kind_and_nothing_else_is_changed() -> None:
    assert extract_text(b"a\r\nb\rc  \n\n\td ") == "a\nb\nc  \n\n\td "


def test_the_pages_of_a_pdf_follow_each_other() -> None:
    assert extract_text(make_pdf("Soup of the day", "Fish on Friday")) == "Soup of the day\n\nFish on Friday"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no text"),
        (b" \n\t ", "no text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe\x00", "Only text and PDF"),
        (bytes(range(256)) * 4, "Only text and PDF"),
        (b"\x00\x01\x02\x03", "Only text and PDF"),
        (b"%PDF-1.7\nnonsense", "damaged"),
        (make_pdf(""), "no text"),
        (make_pdf("Secret", password="open sesame"), "password"),
    ],
)
def test_what_has_no_text_is_refused_with_the_reason(data: bytes, said: str) -> None:
    with pytest.raises(UnreadableAttachment, match=said):
        extract_text(data)


def test_a_pdf_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extracting, "PDF_SECONDS", 0.01)
    with pytest.raises(UnreadableAttachment, match="too long"):
        extract_text(make_pdf("Soup"))
