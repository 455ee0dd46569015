"""Manifests: a digest of the columns that matter, and versions that are refused or rebuilt."""

from __future__ import annotations

import dataframely as dy

from pipelines.lake.manifests import columns_sha256


class First(dy.Schema):
    """A table."""

    name = dy.String(primary_key=True, description="Name")
    size = dy.Int64(nullable=True, description="Size", min=0)


class OtherWords(dy.Schema):
    """The same table in other words."""

    name = dy.String(primary_key=True, description="What it is called")
    size = dy.Int64(nullable=True, description="How large it is", min=0)


class OtherType(dy.Schema):
    """Another type."""

    name = dy.String(primary_key=True)
    size = dy.Float64(nullable=True, min=0)


class OtherRule(dy.Schema):
    """Another rule."""

    name = dy.String(primary_key=True)
    size = dy.Int64(nullable=True, min=1)


class OtherKey(dy.Schema):
    """Another key."""

    name = dy.String()
    size = dy.Int64(nullable=True, min=0)


def test_a_digest_is_of_columns_and_rules_not_of_words() -> None:
    assert columns_sha256(First) == columns_sha256(OtherWords)
    others = {columns_sha256(schema) for schema in (First, OtherType, OtherRule, OtherKey)}
    assert len(others) == 4
