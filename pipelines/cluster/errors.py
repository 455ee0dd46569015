"""What is said where the cluster cannot be used."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster or one of its workers cannot be used; the message says which and what to change."""
