"""Fixtures of the long suite."""

from tests.real import lab

__all__ = ["lab"]
