"""The state file: reading TOML into the declaration, with every problem at once, and what describes its grammar."""

from sindplan.statefile.read import read

__all__ = ["read"]
