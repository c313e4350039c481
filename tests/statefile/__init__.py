"""The state file: lines, reading, schema, first file."""
