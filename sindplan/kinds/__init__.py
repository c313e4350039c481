"""The kinds of resources, one module each.

A module says for its kind: the fields (a frozen class, each field marked with what changing it costs), the resources that a
layout wants (`wanted`), those that the evidence shows (`seen`), the steps an operation takes (`KIND`, read by the planner) and
how each step is performed (`PERFORM`, run by the executor). `registry` lists the modules; a new kind is a new module and a
line there.
"""
