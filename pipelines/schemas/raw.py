"""The `raw` layer: bytes as published, with where, when and under which licence they were read.

Never edited; everything else can be rebuilt from it offline.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import blob, count, key, text


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
