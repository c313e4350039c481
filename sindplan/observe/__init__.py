"""Observing: what the engine and Slurm report, as evidence, as state and as facts. Only reads."""
