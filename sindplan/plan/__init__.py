"""Planning: a pure function from what is desired and what is observed to changes and a graph of actions."""
