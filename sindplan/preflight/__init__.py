"""Preflight: everything that would go wrong, found before anything is changed, all findings together.

`host` looks at engine and machine alone (`sindplan doctor` shows it), `cluster` at what a plan would do to them.
"""
