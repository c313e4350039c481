"""Plans on pull requests: what the second, trusted stage does. Python's standard library alone, so that it installs nothing."""
