"""Snapshots: what a plan reads of an engine, in a file, to plan and to rehearse where no engine can be reached."""
