"""From what runs to the declaration of it: clusters that sind made, read from labels, inspection and files, and our own."""
