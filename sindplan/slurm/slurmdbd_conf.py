"""slurmdbd.conf: sind's lines (v0.11). slurmdbd reads it only when nobody else may. Parameters: slurmdbd.conf(5)."""

from sindplan.model.layout import ClusterLayout
from sindplan.slurm.generated import assigned, document, unless
from sindplan.slurm.masking import STORAGE_PASSWORD
from sindplan.slurm.sections import embedded, keys
from sindplan.slurm.slurm_conf import jwt


def slurmdbd_conf(cluster: ClusterLayout) -> str:
    """Return slurmdbd.conf, with a symbol for the password."""
    section = cluster.declared.slurm.slurmdbd
    db = cluster.declared.db
    has_password = db is not None and db.storage_password is not None
    client_ids = cluster.declared.identity == "client_ids"
    first = unless(
        keys(section),
        [
            ("AuthType", "auth/slurm" if client_ids else "auth/munge"),
            *([("AuthInfo", "use_client_ids")] if client_ids else []),
            *(jwt(cluster) if cluster.managed_role("api") else []),
            ("DbdHost", "db"),
            ("SlurmUser", "slurm"),
            ("LogFile", "/var/log/slurm/slurmdbd.log"),
            ("PidFile", "/run/slurmdbd/slurmdbd.pid"),
        ],
    )
    storage = [
        ("StorageType", "accounting_storage/mysql"),
        ("StorageHost", "localhost"),
        ("StorageLoc", "slurm_acct_db"),
        ("StorageUser", "slurm"),
        *([("StoragePass", STORAGE_PASSWORD)] if has_password else []),
    ]
    return document(assigned(first), assigned(storage), embedded("slurmdbd", section))
