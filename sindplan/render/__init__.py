"""Rendering: one plan, several ways to read it. Pure text; the command line adds colour."""
