"""From sind's YAML to a state file: read in sind's grammar, said in ours, checked by the state file's own rules."""

from sindplan.convert.conversion import convert

__all__ = ["convert"]
