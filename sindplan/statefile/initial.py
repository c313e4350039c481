"""The first state file of somebody new, as `sindplan init` writes it."""

import tomllib
from pathlib import Path
from string import Template

from sindplan.errors import SindplanError
from sindplan.statefile.files import Document
from sindplan.statefile.source import Source
from sindplan.statefile.wording import toml_string

_TEXT = Template("""\
# What `sindplan plan` compares with the Docker Engine, and `sindplan apply` makes of it.
version = 1

# Whose clusters these are. Keep it: sindplan knows its clusters by it.
name = $name

# One Slurm cluster, `dev`, in the realm `sind`. Clusters of a realm see each other.
[realms.sind.clusters.dev]
image = $image

# What holds for every node that says nothing else.
defaults = { cpus = 1, memory = "512m", tmp_size = "256m" }

# The node that runs slurmctld.
[realms.sind.clusters.dev.controller]

# A group of equal workers. Change `count` and apply again: no other worker is touched.
[realms.sind.clusters.dev.workers.cpu]
count = 1

# A login node:
# [realms.sind.clusters.dev.submitter]
""")


def initial(name: str, image: str) -> str:
    """Return the text of a state file with a controller and one worker.

    Raises SindplanError when a state file cannot have such a name or image.
    """
    text = _TEXT.substitute(name=toml_string(name), image=toml_string(image))
    for fault in Source.of(Document(Path(), tomllib.loads(text))).faults():
        raise SindplanError(fault.what, fault.fix)
    return text
