"""Executing: walks a plan's graph on threads, tells a reporter, and takes back what a failed apply did."""
