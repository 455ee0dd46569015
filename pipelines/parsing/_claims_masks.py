"""Digits of a sentence that are no figures, in names, dates, references and versions: blanked out before reading."""

from __future__ import annotations

import re

from pipelines.parsing._claims_subjects import Mention
from pipelines.parsing._claims_units import counted_at, measure_at

_MONTHS = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"


DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTHS},?\s\d{{4}}\b|\b{_MONTHS}\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}}\b"
    rf"|\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b{_MONTHS}\s\d{{4}}\b|\b[QH][1-4]\s?(?:of\s)?\d{{4}}\b|\bFY\s?\d{{2,4}}\b"
)


NAVIGATION = re.compile(
    r"\b(?:Step|Chapter|Section|Figure|Fig\.|Table|Part|Page|Lesson|Module|Statistic|Volume|Appendix|Question|Exercise|Slide|Note)"
    r"\s\d{1,3}(?:\.\d{1,2})?(?:\sof\s\d{1,3})?\b"
)


_YEARS = re.compile(r"(?<![\d,.$\w-])(?:19[89]|20[0-4])\d(?:\s?[-/]\s?(?:20)?\d{2})?(?![\d,%]|\.\d)")


_NOISE = re.compile(
    r"https?://\S{1,300}|www\.\S{1,200}|\b\S{1,60}@\S{1,60}\b|\b[Aa]r[Xx]iv:?\s?\d{4}\.\d{4,5}(?:v\d)?|\[\d{1,3}\]|"
    r"\b(?:No|Nr)\.\s?\d+|\b\d+(?:\.[a-z])\b(?!\s?[A-Z]?B)|\b(?:CUDA|version|release|Release|Version|Ubuntu|Python|cuDNN|NCCL|NeMo|PyTorch)\s"
    r"v?\d[\d.]{0,8}|\bTop\s?\d{2,3}\b|\b24/7\b|\b\d+(?:st|nd|rd|th)\b|\b802\.\d\w*|\b\dD\b"
)


def masked(text: str, mentions: list[Mention]) -> str:
    """Return the text with names, dates and references blanked out, of the same length."""
    characters = list(text)
    spans = [(mention.start, mention.end) for mention in mentions]
    for pattern in (DATE, NAVIGATION, _NOISE):
        spans += [found.span() for found in pattern.finditer(text)]
    for found in _YEARS.finditer(text):
        if not _is_counted(text, found.end()):
            spans.append(found.span())
    for start, end in spans:
        characters[start:end] = ["\0"] * (end - start)
    return "".join(characters)


def _is_counted(text: str, place: int) -> bool:
    rest = place + len(text[place : place + 1]) - len(text[place : place + 1].lstrip())
    found = measure_at(text, rest) or counted_at(text, rest)
    return found is not None and text[rest : rest + 1] != ""
