"""How what a node is given beyond a plain container is written, so that declared and observed can be compared."""

from sindplan.engine.privileges import CAPABILITIES, device

__all__ = ["CAPABILITIES", "device"]
