"""Citations in Chinese and English text: statutes, cases, standards, identifiers of papers (S3). Pure.

What is found is a piece of the text as it stands, so that it can be kept verbatim and looked for again. A wide net does
no harm, as what it catches is only kept; what it misses may be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from apps.core.text.sentences import Span

_B = "[ \u00a0\u3000]?"
_HAN = "[\u3400-\u9fff]"
_NUMBER = "[0-9０-９]{1,6}|[〇零一二三四五六七八九十百千两]{1,9}"

# Chinese: 《中华人民共和国民法典》第五百七十七条第一款第（二）项、第五百八十四条
_ARTICLE = rf"第{_B}[（(]?{_B}(?:{_NUMBER}){_B}[）)]?{_B}(?:条|款|项|目|编|章|节|卷|回)(?:之(?:{_NUMBER}))?"
_ARTICLES = rf"{_ARTICLE}(?:{_B}(?:[、，,]|以及|[和及与或至到]|[-—～~])?{_B}{_ARTICLE}){{0,12}}"
_LAW = (
    "法典|法|条例|规定|办法|解释|细则|规则|规范|标准|决定|准则|通则|规程|公约|协定|条约|宪章|通知|意见|批复|纪要|指引"
)
_TITLE = r"《(?:[^《》\n]|《[^《》\n]{1,60}》){1,80}》"
_NOTE = r"[（(][^（）()\n]{1,20}[）)]"

# English and German: Article 6(1)(f) of the GDPR, Section 230 of the Communications Decency Act, § 823 Abs. 1 BGB
_POINT = r"\d{1,5}[A-Za-z]?(?:[.\-]\d{1,4}[a-z]?(?:-\d{1,3})?)?(?: ?\([0-9A-Za-z]{1,4}\)){0,5}"
_PART = r"(?: (?:Abs\.|Absatz|Satz|Nr\.|para\.?|paragraph) ?\d{1,3})"
_POINTS = rf"{_POINT}{_PART}{{0,3}}(?:(?:, ?| and | or | to | und | bis ?|[-–]){_POINT}{_PART}{{0,3}}){{0,12}}"
_CAPITAL = r"(?:[A-Z][\w’'&\-]{0,30}|U\.S\.|\(?[A-Z]{2,6}\)?)"
_LINK = r"(?: (?:of|and|on|for|the|to|in|against)){0,2}"
_YEAR = r"(?:,? (?:of )?\d{4})"
_NAME = rf"(?:[Tt]he )?{_CAPITAL}(?:{_LINK} {_CAPITAL}){{0,8}}{_YEAR}?"
_CODE = r"[A-Z][A-Za-z]{0,8}[A-Z][A-Za-z]{0,3}"
_REPORTER = (
    r"(?:U\. ?S\.|S\. ?Ct\.|L\. ?Ed\.(?: ?2d)?|F\. ?(?:2d|3d|4th|Supp\.(?: ?[23]d)?)|[AP]\. ?[23]d|N\. ?[EW]\. ?[23]d"
    r"|S\. ?[EW]\. ?[23]d|So\. ?[23]d|Cal\. ?\d?[a-z]{0,4}\.?)"
)
_STANDARD = (
    r"(?:GB|GBJ|GBZ|JGJ|CJJ|ISO|IEC|IEEE|EN|DIN|BS|ASTM|ANSI|NFPA|RFC|FIPS|ITU-T|NIST SP|DB\d{2}|[A-Z]{2,3}(?=/T ?\d))"
    r"(?:/[A-Z]{1,6})?(?: (?:EN|ISO|IEC)(?:/[A-Z]{2,4})?){0,2}"
)

_PATTERNS = {
    name: re.compile(pattern, re.ASCII)  # 根据GB/T 1234: a Chinese character is no part of a Latin word
    for name, pattern in {
        "titled": rf"{_TITLE}{_B}(?:{_NOTE})?{_B}{_ARTICLES}",
        "title": rf"《[^《》\n]{{1,80}}(?:{_LAW})(?:{_NOTE})?》",
        "untitled": rf"{_HAN}{{1,20}}?(?:{_LAW})(?:{_NOTE})?{_B}{_ARTICLES}",
        "abbreviated": rf"(?<![A-Za-z])[A-Z][A-Za-z]{{1,11}}{_B}{_ARTICLES}",
        "article": _ARTICLE,
        "document": rf"{_HAN}{{1,12}}[〔\[]\d{{4}}[〕\]]{_B}(?:第{_B})?\d{{1,5}}{_B}号",
        "chinese case": rf"[（(]\d{{4}}[）)]{_B}{_HAN}{{1,4}}\d{{0,4}}{_HAN}{{0,6}}{_B}\d{{1,7}}号(?:之(?:{_NUMBER}))?",
        "us code": rf"(?<![\w.])\d{{1,3}} (?:U\. ?S\. ?C\.(?: ?A\.)?|USCA?|CFR|C\. ?F\. ?R\.)"
        rf" ?(?:§{{1,2}} ?)?{_POINTS}",
        "paragraph": rf"(?<!\w)(?:{_CODE} )?§{{1,2}} ?{_POINTS}(?: ?ff?\.)?(?: {_CODE}(?!\w)| of {_NAME})?",
        "english article": rf"(?<!\w)(?:[Aa]rticles?|Arts?\.|[Ss]ections?|Secs?\.) ?{_POINTS}"
        rf"(?: of {_NAME}|,? {_CODE}(?!\w)|,? {_NAME})?",
        "part of an act": rf"(?<!\w)(?:Rule|Regulation|Schedule|Clause|Chapter|Part) ?{_POINTS} of {_NAME}",
        "rule": r"(?<!\w)Rule \d{1,3}(?:[a-z]|(?:\([0-9a-z]{1,3}\)){1,4})(?:-\d{1,3})?",
        "european act": r"(?<!\w)(?:Regulation|Directive|Decision) (?:\((?:EU|EC|EEC)\) )?(?:No\.? )?\d{2,4}/\d{1,4}"
        r"(?:/(?:EU|EC|EEC))?",
        "act": rf"(?<!\w)(?:{_CAPITAL}{_LINK} ){{1,8}}(?:Act|Code|Convention){_YEAR}"
        rf"(?:,? (?:s|ss|section|sections)\.? ?{_POINTS})?",
        "reporter": rf"(?<!\w)\d{{1,4}} {_REPORTER} \d{{1,5}}(?: \([^()\n]{{0,20}}\d{{4}}\))?",
        "neutral": r"(?<!\w)\[\d{4}\] (?:\d{1,3} )?[A-Z][A-Za-z]{1,8}(?: [A-Z][a-z]{1,6})? \d{1,5}"
        r"(?: \([A-Z][A-Za-z]{1,8}\))?",
        "parties": rf"(?<!\w){_CAPITAL}(?:{_LINK} {_CAPITAL}){{0,6}} v\.? {_CAPITAL}(?:{_LINK} {_CAPITAL}){{0,6}}",
        "european case": r"(?<!\w)(?:Case )?[CTF][-‑–]\d{1,4}/\d{2}(?!\d)",
        "standard": rf"(?<![\w/]){_STANDARD} ?[A-Z]?\.?\d{{2,6}}(?:\.\d{{1,3}}){{0,3}}(?:[-—–:]\d{{1,5}}){{0,3}}",
        "group standard": r"(?<![\w/])T/[A-Z]{2,8} ?\d{1,6}(?:\.\d{1,3}){0,3}(?:[-—–]\d{4})?",
        "doi": r"(?<![\w./])10\.\d{4,9}/[\w.()/:\-]{1,100}[\w/]",
        "arxiv": r"(?<!\w)arXiv: ?\d{4}\.\d{4,5}(?:v\d{1,2})?",
    }.items()
}

_HAN_RUN = re.compile(f"{_HAN}+")
_LEAD = re.compile(
    ".*(?:根据|依据|依照|按照|参照|参考|参见|违反|引用|援引|结合|符合|触犯|构成|以及|或者|还有|关于|由于|因为|所以|但是|比如|例如|就是"
    "|可以|应当|应该|是否|我国|请问|提到|认为|觉得|讨论|解释了|适用(?!法)|不是|[的了是我你您他她它们这那与和及或])"
)
_LEAD_CHARACTER = re.compile("[依按查看用以见在把问](?!守)|据|对(?!外)")
_LEAD_WORD = re.compile(
    r"(?:The|Under|See|In|By|As|And|But|Per|Is|Does|Can|What|Which|If|Of|On|For|Our|Your|Their|This|That|It|We|I|My) "
)


def find_citations(text: str) -> list[str]:
    """The distinct citations in `text` in order of first occurrence, word for word."""
    return list(dict.fromkeys(text[start:end] for start, end in find_citation_spans(text)))


def find_citation_spans(text: str) -> list[Span]:
    """Where citations occur in `text`, in order; overlapping ones count as one."""
    spans: list[Span] = []
    for start, end in sorted(
        _trim(found, name) for name, pattern in _PATTERNS.items() for found in pattern.finditer(text)
    ):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif start < end:
            spans.append((start, end))
    return spans


def _trim(found: re.Match[str], name: str) -> Span:
    """The span of a match without the words before a name without 《》: 根据民法典第三条 → 民法典第三条."""
    start, end = found.span()
    match name:
        case "untitled" | "document":
            run = _HAN_RUN.match(found.string, start, end)
            last = run.end() - 2 if run else start  # a name has two characters at least
            if lead := _LEAD.match(found.string, start, max(last, start)):
                start = lead.end()
            while start < last and _LEAD_CHARACTER.match(found.string, start):
                start += 1
        case "act" | "parties":
            while lead := _LEAD_WORD.match(found.string, start, end):
                start = lead.end()
    return start, end


def holds(text: str, citation: str) -> bool:
    """Whether `citation` occurs in `text` as itself, not as the beginning of another: Article 1 not in Article 12."""
    if citation not in text:  # most are not, and this is a hundred times quicker
        return False
    before = "(?<![0-9A-Za-z])" if _is_latin(citation[:1]) else ""
    after = r"(?![0-9A-Za-z]|[-—–.:/]\d)" if _is_latin(citation[-1:]) else f"(?!之(?:{_NUMBER}))"
    return re.search(before + re.escape(citation) + after, text) is not None


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()


def list_missing(text: str, citations: Iterable[str]) -> list[str]:
    """Those of `citations` that `find_citations` would not find in `text`, neither alone nor within a longer one."""
    present = find_citations(text)
    return [citation for citation in citations if not any(holds(other, citation) for other in present)]


def drop_contained(citations: Sequence[str]) -> list[str]:
    """`citations` without those that are part of a longer one."""
    return [
        citation
        for citation in citations
        if not any(other != citation and holds(other, citation) for other in citations)
    ]
