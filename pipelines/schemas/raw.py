"""The `raw` layer: bytes as published, with where, when and under which licence they were read.

Never edited; everything else can be rebuilt from it offline.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import blob, count, flag, key, text


class Files(dy.Schema):
    """One published file that a parser reads, byte for byte; one row per round, commit and path."""

    round = key("Round as a readable name, such as training-v5.0")
    commit = key("Commit of the results repository, or `folder-` or `archive-` and a digest where none is named")
    path = key("Path inside the repository, without the archive's top folder")
    kind = text("Which parser reads the file", nullable=False)
    size_bytes = count("Length of the content", unit="bytes", nullable=False)
    sha256 = text("SHA-256 of the content, in hexadecimal", nullable=False)
    content_path = text("Path of the row that holds the bytes: the same bytes are stored once", nullable=False)
    content = blob("The bytes as published; null where another row of the partition, `content_path`, holds them")
    source = text("Repository that the round was published in", nullable=False)
    licence = text("Licence under which the publisher offers the content")
    retrieved_at = text("When the bytes were read, ISO 8601 in UTC", nullable=False)


class Sheets(dy.Schema):
    """One version of a page or file of specifications, byte for byte; one row per source, path and bytes.

    The same bytes twice are one row. Empty until a live refresh has fetched some.
    """

    source = key("Source by its short name in the catalogue, such as nvidia-h100-page")
    path = key("File inside the source; empty where the source is one file")
    sha256 = key("SHA-256 of the content, in hexadecimal")
    address = text("Address of the page, whatever mirror it was read through", nullable=False)
    form = text("Published form, which chooses the reader", nullable=False)
    publisher = text("Who publishes it", nullable=False)
    publisher_kind = text("vendor of what it is about, or third party", nullable=False)
    licence = text("Licence under which the publisher offers the content")
    confidence = text("Trust in figures read from it before a person has looked at them", nullable=False)
    subject = text("The one part or platform that it is of, where its tables do not name it")
    names = text("What labels of its tables stand for, as a JSON object", nullable=False)
    media_type = text("Media type as the host told it")
    size_bytes = count("Length of the content", unit="bytes", nullable=False)
    content = blob("The bytes as published")
    is_current = flag("Whether these bytes stand: one version of each page does", nullable=False)
    first_retrieved_at = text("When these bytes were first read, ISO 8601 in UTC", nullable=False)
    retrieved_at = text("When these bytes were last read in place of others, ISO 8601 in UTC", nullable=False)
