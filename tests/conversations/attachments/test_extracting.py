"""The text of attached files: encodings that people have, PDF files, and what is no text at all."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from apps.conversations import file_text
from apps.conversations.file_text import UnreadableAttachment, extract_text

pytestmark = pytest.mark.long_except("test_every_encoding_gives_the_same_text")

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
    monkeypatch.setattr(file_text, "PDF_SECONDS", 0.01)
    with pytest.raises(UnreadableAttachment, match="too long"):
        extract_text(make_pdf("Soup"))


def make_long_pdf(count: int, *, said: int | None = None) -> bytes:
    """A PDF of as many empty pages; `said`: how many it says that it has."""
    out = io.BytesIO()
    offsets = []

    def add(number: int, body: str) -> None:
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode())

    out.write(b"%PDF-1.4\n")
    add(1, "<< /Type /Catalog /Pages 2 0 R >>")
    kids = " ".join(f"{number} 0 R" for number in range(3, count + 3))
    add(2, f"<< /Type /Pages /Count {count if said is None else said} /Kids [{kids}] >>")
    for number in range(3, count + 3):
        add(number, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>")
    start = out.tell()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    out.write(f"xref\n0 {count + 3}\n0000000000 65535 f \n{table}".encode())
    out.write(f"trailer\n<< /Size {count + 3} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


@pytest.mark.parametrize(
    ("pages", "said", "refused"),
    [(5_001, None, "pages"), (5_001, 1, "pages"), (3, 10**9, "pages"), (3, -1, "no text"), (3, 1, "no text")],
)
def test_what_a_pdf_says_of_its_pages_is_believed_where_it_is_too_many(pages: int, said: int, refused: str) -> None:
    with pytest.raises(UnreadableAttachment, match=refused):
        extract_text(make_long_pdf(pages, said=said))
