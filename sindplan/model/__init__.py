"""The nouns: declaration, addresses, resources, names and units. Pure: no I/O, no clock, no randomness."""
