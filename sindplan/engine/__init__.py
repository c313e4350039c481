"""The Docker Engine behind a narrow port: `port` (the verbs), `docker_sdk` (the real one), `simulated` (in memory)."""
