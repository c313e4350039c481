"""One cluster in a normal form, made of sind's YAML and of a declaration by code that knows nothing of the converter.

Each default is filled in and each node stands for itself, so that equal forms mean equal clusters.
"""

import posixpath
from typing import Any

from sindplan.model.declaration import Cluster, Declaration, NodeOptions
from sindplan.model.units import parse_memory
from sindplan.model.workers import assign_workers

IMAGE = "sindplan-node:26.05"
Normal = dict[str, Any]

_LISTS = {"capAdd": "cap_add", "capDrop": "cap_drop", "devices": "devices", "securityOpt": "security_opt"}
_ROLES = ("controller", "db", "api", "submitter", "worker")
_IDENTITIES = {"local": "local", "nss_slurm": "nssSlurm", "client_ids": "clientIds"}


def of_sind(document: dict[str, Any], folder: str) -> Normal:
    """Return the normal form of sind's document, as `yaml.safe_load` gives it."""
    identity = document.get("identity") or {}
    identity = {"mode": identity} if isinstance(identity, str) else identity
    return {
        "realm": str(document.get("realm") or "sind"),
        "name": str(document.get("name") or "default"),
        "identity": identity.get("mode") or "local",
        "controllerUsers": bool(identity.get("controllerUsers")),
        "storage": _storage(document.get("storage") or {}, folder),
        "nodes": _nodes(document),
        **_people(document),
        "accounts": {
            one["name"]: (one.get("parent") or "root", _limits(one.get("limits") or {}))
            for one in _maps(document.get("accounts"))
        },
        "slurm": {name: text for name, text in (document.get("slurm") or {}).items() if text},
    }


def _storage(storage: dict[str, Any], folder: str) -> Normal:
    data = storage.get("dataStorage") or {}
    path = data.get("hostPath") if data.get("type") != "volume" else None
    return {
        "hostPath": posixpath.normpath(posixpath.join(folder, path)) if path else None,
        "mountPath": data.get("mountPath") or "/data",
        "cvmfs": bool(storage.get("cvmfs")),
    }


def _maps(entries: list[Any] | None) -> list[dict[str, Any]]:
    return [entry if isinstance(entry, dict) else {"name": entry} for entry in entries or []]


def _nodes(document: dict[str, Any]) -> Normal:
    listed = [_node(node) for node in document.get("nodes") or ["controller", "worker"]]
    defaults = document.get("defaults") or {}
    managed = all(node.get("managed") is not False for node in listed if node["role"] == "controller")
    nodes: Normal = {}
    number = 0
    for node in listed:
        normal = {
            "image": node.get("image") or defaults.get("image") or IMAGE,
            "cpus": node.get("cpus") or defaults.get("cpus") or 1,
            "memory": parse_memory(node.get("memory") or defaults.get("memory") or "512m"),
            "tmpSize": (node.get("tmpSize") or defaults.get("tmpSize") or "256m").lower(),
            "managed": managed and node.get("managed") is not False,
            **{key: _union(defaults.get(key), node.get(key)) for key in _LISTS},
        }
        if node["role"] == "controller":
            nodes["controller"] = {**normal, "backup": bool(node.get("backupController"))}
        elif node["role"] != "worker":
            nodes[node["role"]] = normal
        else:
            for _ in range(node.get("count") or 1):
                nodes[f"worker-{number}"] = normal
                number += 1
    return nodes


def _node(node: Any) -> dict[str, Any]:
    if isinstance(node, str):
        return {"role": node}
    if len(node) == 1 and next(iter(node)) in _ROLES:
        ((role, count),) = node.items()
        return {"role": role, "count": count}
    return dict(node)


def _union(*lists: Any) -> list[str]:
    return list(dict.fromkeys(item for one in lists for item in one or ()))


def _people(document: dict[str, Any]) -> Normal:
    users, groups = _maps(document.get("users")), _maps(document.get("groups"))
    taken = {65534, 65535} | {user.get("uid") for user in users} | {group.get("gid") for group in groups}
    for entry, key in [*((user, "uid") for user in users), *((group, "gid") for group in groups)]:
        if entry.get(key) is None:
            entry[key] = min(set(range(1000, 3000)) - taken)
            taken.add(entry[key])
    keys = ("group", "groups", "accounts", "coordinator", "adminLevel")
    return {
        "users": {user["name"]: {"uid": user["uid"], **{key: user.get(key) or None for key in keys}} for user in users},
        "groups": {group["name"]: group["gid"] for group in groups},
    }


def _limits(limits: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in limits.items()}


def of_declaration(declaration: Declaration) -> Normal:
    """Return the normal form of the only cluster of a declaration."""
    ((realm, content),) = declaration.realms.items()
    ((name, cluster),) = content.clusters.items()
    slurm = {
        key: getattr(cluster.slurm, key) for key in ("main", "cgroup", "gres", "topology", "plugstack", "slurmdbd")
    }
    return {
        "realm": realm,
        "name": name,
        "identity": _IDENTITIES[cluster.identity],
        "controllerUsers": cluster.controller_users,
        "storage": {
            "hostPath": cluster.storage.host_path,
            "mountPath": cluster.storage.mount_path,
            "cvmfs": cluster.storage.cvmfs,
        },
        "nodes": _declared_nodes(cluster),
        "users": {
            name: {
                "uid": user.uid,
                "group": user.group,
                "groups": list(user.groups) or None,
                "accounts": list(user.accounts) or None,
                "coordinator": list(user.coordinator) or None,
                "adminLevel": user.admin_level,
            }
            for name, user in cluster.users.items()
        },
        "groups": {name: group.gid for name, group in cluster.groups.items()},
        "accounts": {name: (one.parent, _limits(dict(one.limits))) for name, one in cluster.accounts.items()},
        "slurm": {
            key: text if isinstance(text, str) else dict(text) for key, text in slurm.items() if text is not None
        },
    }


def _declared_nodes(cluster: Cluster) -> Normal:
    nodes = {"controller": {**_declared(cluster, cluster.controller), "backup": cluster.controller.backup}}
    single = {"db": cluster.db, "api": cluster.api, "submitter": cluster.submitter}
    nodes |= {role: _declared(cluster, node) for role, node in single.items() if node is not None}
    workers = assign_workers(cluster.workers, {})
    return nodes | {f"worker-{index}": _declared(cluster, cluster.workers[group]) for index, group in workers.items()}


def _declared(cluster: Cluster, node: NodeOptions) -> Normal:
    defaults = cluster.defaults
    return {
        "image": node.image or defaults.image or cluster.image,
        "cpus": node.cpus or defaults.cpus or 1,
        "memory": node.memory or defaults.memory or parse_memory("512m"),
        "tmpSize": node.tmp_size or defaults.tmp_size or "256m",
        "managed": cluster.managed and getattr(node, "managed", None) is not False,
        **{key: _union(getattr(defaults, ours), getattr(node, ours)) for key, ours in _LISTS.items()},
    }
