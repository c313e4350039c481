"""Every file of /etc/slurm, from a cluster's layout. Pure; a module a file, where there is something to decide."""

from collections.abc import Mapping
from typing import Literal

from attrs import field, fields, frozen

from sindplan.model.declaration import Cluster, Slurm
from sindplan.model.layout import ClusterLayout, is_managed
from sindplan.slurm import gres
from sindplan.slurm.generated import CONFIG, HEADER, NODES_FILE, STATE, document
from sindplan.slurm.masking import STORAGE_PASSWORD
from sindplan.slurm.nodes_conf import node_lines, nodes_conf
from sindplan.slurm.sections import FILES, embedded, fragment_files, keys
from sindplan.slurm.slurm_conf import slurm_conf
from sindplan.slurm.slurmdbd_conf import slurmdbd_conf

__all__ = [
    "CONFIG",
    "HEADER",
    "NODES_FILE",
    "STATE",
    "STORAGE_PASSWORD",
    "SlurmFile",
    "node_lines",
    "nodes_conf",
    "slurm_conf",
    "slurm_files",
    "slurm_paths",
]

Reader = Literal["slurmctld", "slurmdbd"]
_ALWAYS = ("slurm.conf", NODES_FILE, "cgroup.conf", "plugstack.conf", "plugstack.conf.d/.keep")


@frozen(kw_only=True)
class SlurmFile:
    """A file of /etc/slurm.

    Attributes:
        content: Its text, which may hold symbols of addresses, and one for a password; never shown, as it may hold a real one.
        owner: A user of the image, with its own group.
        reader: The daemon that must be told when it changes.
    """

    content: str = field(repr=False)
    mode: int = 0o644
    owner: str = "root"
    reader: Reader = "slurmctld"


def slurm_files(cluster: ClusterLayout) -> Mapping[str, SlurmFile]:
    """Return every file of the config volume by its path below /etc/slurm; none for a cluster without Slurm."""
    if not cluster.managed:
        return {}
    return {path: _file(path, text) for path, text in _texts(cluster).items()}


def slurm_paths(declared: Cluster) -> frozenset[str]:
    """Return the paths of the files that a declaration makes, whatever it is laid out to."""
    if not is_managed(declared):
        return frozenset()
    slurm = declared.slurm
    optional = {
        "gres.conf": bool(slurm.gres or gres.groups(declared)),
        "topology.conf": bool(slurm.topology),
        "slurmdbd.conf": _has_db(declared),
    }
    found = {path for name in _sections(declared) for path in fragment_files(name, getattr(slurm, name))}
    return frozenset({*_ALWAYS, *(path for path, there in optional.items() if there), *found})


def _texts(cluster: ClusterLayout) -> Mapping[str, str]:
    declared = cluster.declared
    slurm = declared.slurm
    texts = {
        "slurm.conf": slurm_conf(cluster),
        NODES_FILE: nodes_conf(cluster),
        "cgroup.conf": document(_cgroup_plugin(cluster), embedded("cgroup", slurm.cgroup)),
        # Its fragments come in by the wildcard, which only this file's reader knows.
        "plugstack.conf": document(
            f"include {CONFIG}/{FILES['plugstack']}.d/*\n",
            embedded("plugstack", slurm.plugstack) if isinstance(slurm.plugstack, str) else "",
        ),
    }
    if not (cluster.by_name and fragment_files("plugstack", slurm.plugstack)):
        # Keeps the folder that plugstack.conf includes; a dot file does not match `*`. sind puts none beside fragments.
        texts["plugstack.conf.d/.keep"] = ""
    if slurm.gres:
        texts["gres.conf"] = document("", embedded("gres", slurm.gres))
    elif gres.groups(declared):
        texts["gres.conf"] = document(gres.gres_conf(cluster))
    if slurm.topology:
        texts["topology.conf"] = document("", embedded("topology", slurm.topology))
    if _has_db(declared):
        texts["slurmdbd.conf"] = slurmdbd_conf(cluster)
    for name in _sections(declared):
        texts |= fragment_files(name, getattr(slurm, name))
    return texts


def _cgroup_plugin(cluster: ClusterLayout) -> str:
    if "cgroupplugin" in keys(cluster.declared.slurm.cgroup):
        return ""
    return f"CgroupPlugin={'autodetect' if cluster.cgroups else 'disabled'}\n"


def _has_db(declared: Cluster) -> bool:
    return is_managed(declared) and declared.db is not None and declared.db.managed is not False


def _sections(declared: Cluster) -> list[str]:
    """Return the sections that have a file: without a db nobody reads slurmdbd's."""
    return [section.name for section in fields(Slurm) if section.name != "slurmdbd" or _has_db(declared)]


def _file(path: str, text: str) -> SlurmFile:
    if path.startswith(FILES["slurmdbd"]):
        # slurmdbd ends when anybody else could read one of its files.
        return SlurmFile(content=text, mode=0o600, owner="slurm", reader="slurmdbd")
    return SlurmFile(content=text)
