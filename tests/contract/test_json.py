"""Docker's JSON: what is sent, and what is made of what comes back."""

import json
from pathlib import Path

import pytest
from attrs import evolve

from sindplan.engine import creation, inspection
from sindplan.engine.records import ContainerSpec, Endpoint, Mount, NetworkSpec

SPEC = ContainerSpec(name="n", image="i", labels={"a": ""})


def everything(value):
    """Yield all keys of nested JSON that hold None."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ([key] if inner is None else everything(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from everything(inner)


class TestSent:
    def test_limits_are_quota_and_both_memories(self):
        host = creation.container_body(evolve(SPEC, cpus=3, memory=2**30))["HostConfig"]

        assert host["CpuPeriod"], host["CpuQuota"] == (100_000, 300_000)
        assert (host["Memory"], host["MemorySwap"]) == (2**30, 2**30)
        assert "NanoCpus" not in host

    def test_update_is_the_same_pair(self):
        assert creation.limits(2, None) == {"CpuPeriod": 100_000, "CpuQuota": 200_000}
        assert creation.limits(None, 7) == {"Memory": 7, "MemorySwap": 7}
        assert creation.limits(None, None) == {}

    def test_nothing_is_sent_as_none(self):
        body = creation.container_body(SPEC)

        assert not list(everything(body))
        assert not {"Memory", "CpuQuota", "ShmSize", "Init", "CgroupnsMode"} & set(body["HostConfig"])
        assert body["HostConfig"]["NetworkMode"] == "none"
        assert body["Labels"] == {"a": ""}

    def test_networks_go_in_one_call(self):
        spec = evolve(
            SPEC,
            endpoints=(Endpoint(network="net", address="10.0.0.9", gw_priority=5), Endpoint(network="mesh")),
        )
        body = creation.container_body(spec)

        assert body["HostConfig"]["NetworkMode"] == "net"
        assert body["NetworkingConfig"]["EndpointsConfig"] == {
            "net": {"IPAMConfig": {"IPv4Address": "10.0.0.9"}, "GwPriority": 5},
            "mesh": {},
        }

    @pytest.mark.parametrize(
        ("text", "outside", "inside", "rights"),
        [
            ("/dev/fuse", "/dev/fuse", "/dev/fuse", "rwm"),
            ("/dev/a:/dev/b", "/dev/a", "/dev/b", "rwm"),
            ("/dev/a:r", "/dev/a", "/dev/a", "r"),
            ("/dev/a:wr", "/dev/a", "/dev/a", "rw"),
            ("/dev/a:/dev/b/../c/", "/dev/a", "/dev/c", "rwm"),
            ("/dev/a:/dev/b:rw", "/dev/a", "/dev/b", "rw"),
        ],
    )
    def test_devices_are_read_as_docker_does(self, text, outside, inside, rights):
        assert creation.device_body(text) == {
            "PathOnHost": outside,
            "PathInContainer": inside,
            "CgroupPermissions": rights,
        }

    def test_cdi_devices_are_requests(self):
        host = creation.container_body(evolve(SPEC, devices=("/dev/fuse", "nvidia.com/gpu=all")))["HostConfig"]

        assert [device["PathOnHost"] for device in host["Devices"]] == ["/dev/fuse"]
        assert host["DeviceRequests"] == [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}]

    def test_mounts(self):
        mounts = (
            Mount(
                target="/v", kind="volume", source="v", no_copy=True, driver="cvmfs", read_only=True, labels={"a": "b"}
            ),
            Mount(target="/w", kind="volume", source="w"),
            Mount(target="/cvmfs", kind="bind", source="/cvmfs", propagation="rslave"),
        )
        sent = creation.container_body(evolve(SPEC, mounts=mounts))["HostConfig"]["Mounts"]

        assert sent[0]["VolumeOptions"] == {"NoCopy": True, "DriverConfig": {"Name": "cvmfs"}, "Labels": {"a": "b"}}
        assert sent[2]["BindOptions"] == {"Propagation": "rslave"}
        assert set(sent[1]) == {"Type", "Source", "Target", "ReadOnly"}
        assert inspected(Mounts=sent).spec.mounts == mounts
        assert [mount.labels for mount in inspected(Mounts=sent).spec.mounts] == [{"a": "b"}, {}, {}]

    def test_system_paths_are_two_empty_lists(self):
        options = ("systempaths=unconfined", "label=disable")
        host = creation.container_body(evolve(SPEC, security_opt=options))["HostConfig"]

        assert (host["SecurityOpt"], host["MaskedPaths"], host["ReadonlyPaths"]) == (["label=disable"], [], [])
        assert "MaskedPaths" not in creation.container_body(SPEC)["HostConfig"]
        assert inspected(**host).spec.security_opt == ("label=disable", "systempaths=unconfined")
        assert inspected(MaskedPaths=[], ReadonlyPaths=["/proc/sys"]).spec.security_opt == ()
        assert inspected(MaskedPaths=None, ReadonlyPaths=None).spec.security_opt == ()

    def test_networks(self):
        plain = NetworkSpec(name="n", labels={"a": "b"})

        assert creation.network_body(plain) == {"Name": "n", "Labels": {"a": "b"}, "Driver": "bridge"}
        assert creation.network_body(evolve(plain, config_only=True)) == {
            "Name": "n",
            "Labels": {"a": "b"},
            "ConfigOnly": True,
        }
        pool = creation.network_body(evolve(plain, subnet="10.0.0.0/24", ip_range="10.0.0.128/25"))["IPAM"]
        assert pool == {"Driver": "default", "Config": [{"Subnet": "10.0.0.0/24", "IPRange": "10.0.0.128/25"}]}


def inspected(**host):
    """Return a container of Docker's with this host configuration."""
    return inspection.container(
        {
            "Id": "0123456789abcdef" * 4,
            "Name": "/n",
            "Config": {"Hostname": "0123456789ab"},
            "HostConfig": {"NetworkMode": "none", **host},
            "State": {"Status": "created", "StartedAt": "0001-01-01T00:00:00Z"},
        }
    )


class TestObserved:
    def test_a_worker_that_sind_made(self):
        found = inspection.container(json.loads((Path(__file__).parent / "data/sind-worker.json").read_text()))

        assert found.name == "sind-t4-worker-0"
        assert (found.state, found.exit_code, found.oom_killed) == ("running", 0, False)
        assert found.labels["sind.role"] == "worker"
        assert found.spec.hostname == "worker-0"
        assert (found.spec.entrypoint, found.spec.command) == (None, ("/sbin/init",))
        assert sorted(found.spec.mounts) == [
            Mount(target="/data", kind="volume", source="sind-t4-data"),
            Mount(target="/etc/munge", kind="volume", source="sind-t4-munge", read_only=True),
            Mount(target="/etc/slurm", kind="volume", source="sind-t4-config", read_only=True),
        ]
        assert found.spec.tmpfs == {"/run": "exec,mode=755", "/run/lock": "", "/tmp": "rw,nosuid,nodev,size=256m"}
        assert [endpoint.network for endpoint in found.spec.endpoints] == ["sind-t4-net", "sind-mesh"]
        assert found.endpoint("sind-t4-net").address.startswith("172.20.0.")
        assert found.endpoint("sind-t4-net").fixed == ""
        assert (found.spec.cpus, found.spec.memory, found.memory_swap) == (None, None, None)
        assert found.spec.security_opt == ("writable-cgroups=true", "label=disable")

    @pytest.mark.parametrize(
        ("host", "cpus"),
        [
            ({"CpuPeriod": 100_000, "CpuQuota": 200_000}, 2),
            ({"CpuQuota": 300_000}, 3),
            ({"CpuPeriod": 50_000, "CpuQuota": 75_000}, 2),
            ({"CpuPeriod": 100_000, "CpuQuota": -1}, None),
            ({"NanoCpus": 2_000_000_000}, 2),
            ({"NanoCpus": 500_000_000}, 1),
            ({"NanoCpus": 0, "CpuPeriod": 0, "CpuQuota": 0}, None),
            ({}, None),
        ],
    )
    def test_cpus(self, host, cpus):
        assert inspected(**host).spec.cpus == cpus

    @pytest.mark.parametrize(("swap", "seen"), [(-1, None), (0, None), (2**31, 2**31)])
    def test_memory(self, swap, seen):
        found = inspected(Memory=2**30, MemorySwap=swap)

        assert (found.spec.memory, found.memory_swap) == (2**30, seen)

    def test_binds_of_every_form(self):
        found = inspected(Binds=["/srv/a:/a", "vol:/b:ro,nocopy", "vol2:/c:z", "/cvmfs:/cvmfs:ro,rslave"])

        assert found.spec.mounts == (
            Mount(target="/a", kind="bind", source="/srv/a"),
            Mount(target="/b", kind="volume", source="vol", read_only=True, no_copy=True),
            Mount(target="/c", kind="volume", source="vol2"),
            Mount(target="/cvmfs", kind="bind", source="/cvmfs", read_only=True, propagation="rslave"),
        )

    def test_what_docker_fills_in_is_empty(self):
        found = inspected(ShmSize=67108864, CapAdd=["cap_sys_nice"], Init=None)

        assert found.spec == ContainerSpec(name="n", image="", labels={}, cap_add=("SYS_NICE",))
        assert found.started_at == ""

    def test_devices_come_back(self):
        devices = ("/dev/fuse:/dev/fuse:rwm", "/dev/a:/dev/b:rwm", "/dev/a:/dev/a:r", "nvidia.com/gpu=all")
        host = creation.container_body(evolve(SPEC, devices=devices))["HostConfig"]

        assert inspected(Devices=host["Devices"], DeviceRequests=host["DeviceRequests"]).spec.devices == devices

    def test_a_line_of_the_list(self):
        found = inspection.summary(
            {"Id": "1", "Names": ["/other/alias", "/own"], "State": "exited", "Image": "i", "ImageID": "sha256:2"}
        )

        assert (found.name, found.labels, found.networks) == ("own", {}, {})

    def test_a_network_without_labels(self):
        found = inspection.network({"Id": "1", "Name": "host", "Driver": "host", "IPAM": {"Config": None}})

        assert (found.labels, found.subnet, found.members) == ({}, "", {})

    def test_ipv6_is_not_the_subnet(self):
        pools = [{"Subnet": "fd00::/64", "Gateway": "fd00::1"}, {"Subnet": "10.0.0.0/24", "Gateway": "10.0.0.1"}]

        assert inspection.network({"Id": "1", "Name": "n", "IPAM": {"Config": pools}}).subnet == "10.0.0.0/24"

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("2026-12-01T05:35:34.641606934Z", "1796103334.641606934"),
            ("2026-12-01T05:35:34.6Z", "1796103334.600000000"),
            ("2026-12-01T05:35:34Z", "1796103334.000000000"),
            ("0001-01-01T00:00:00Z", None),
            (None, None),
        ],
    )
    def test_times_keep_their_nanoseconds(self, text, seconds):
        assert inspection.unix_time(text) == seconds
