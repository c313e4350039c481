"""Slurm: its files as text (`files`), and what runs inside nodes behind a port (`port`, `commands`, `simulated`)."""
