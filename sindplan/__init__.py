"""Plan and apply for Slurm clusters in Docker containers."""

__version__ = "0.1.0"
