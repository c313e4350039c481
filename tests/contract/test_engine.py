"""What an engine does: one suite for all adapters. Where the two differ, the real engine is right."""

import threading

import pytest
from attrs import evolve

from sindplan.engine.records import ContainerSpec, Endpoint, Entry, Executed, Mount
from sindplan.errors import Conflict, EngineError, EngineRefused, EngineTimeout, NotFound
from tests.contract.stage import LABEL, Stage

GONE = "no-such-object-9f3c"


class TestInfo:
    """The engine's account of itself."""

    def test_is_an_engine_that_sindplan_knows(self, stage: Stage) -> None:
        """Version and host figures are there."""
        info = stage.engine.info()

        assert info.engine_id
        assert info.cgroup_version == "2"
        assert tuple(int(part) for part in info.api_version.split(".")) >= (1, 48)
        assert info.cpus >= 1
        assert info.memory > 0

    def test_unknown_image_is_none(self, stage: Stage) -> None:
        """An image that is not there is no error."""
        assert stage.engine.image("ghcr.io/nobody/nothing:0") is None

    def test_image_by_reference_id_and_short_id(self, stage: Stage) -> None:
        """An image has one id, however it is asked for."""
        image = stage.engine.image(stage.image)

        assert image is not None
        assert image.id.startswith("sha256:")
        assert stage.engine.image(image.id) == image
        assert stage.engine.image(image.id.removeprefix("sha256:")[:12]) == image

    def test_the_list_of_images_says_of_each_what_it_says_alone(self, stage: Stage) -> None:
        """By every reference, the one of the tests among them."""
        found = stage.engine.images()

        assert stage.image in found
        assert {reference: stage.engine.image(reference) for reference in found} == found

    def test_pull_of_what_no_registry_has_is_refused(self, stage: Stage) -> None:
        """Registry errors are refusals."""
        with pytest.raises(EngineRefused) as caught:
            stage.engine.pull("localhost:1/nobody/nothing:0")

        assert caught.value.verb == "pull"


class TestNetworks:
    """Networks, their names and their addresses."""

    def test_chosen_addresses_show(self, stage: Stage) -> None:
        """Docker's choice of a subnet can be read and pinned."""
        network = stage.network()
        found = stage.engine.inspect_network(network)

        assert found is not None
        assert (found.name, found.labels, found.driver) == (stage.name("net"), stage.labels, "bridge")
        assert "/" in found.subnet
        assert found.gateway
        assert not found.ip_range
        assert not found.members
        assert found in stage.engine.networks()

        stage.engine.remove_network(network)
        pinned = stage.network(subnet=found.subnet, gateway=found.gateway)
        again = stage.engine.inspect_network(pinned)
        assert again is not None
        assert (again.subnet, again.gateway) == (found.subnet, found.gateway)

    def test_what_is_created_is_observed(self, stage: Stage) -> None:
        """Subnet, gateway and range come back as they were given."""
        subnet, gateway = stage.subnet(), stage.address(1)
        upper = stage.address(128) + "/25"
        found = stage.engine.inspect_network(stage.network(subnet=subnet, gateway=gateway, ip_range=upper))

        assert found is not None
        assert (found.subnet, found.gateway, found.ip_range) == (subnet, gateway, upper)

    def test_is_found_by_id_name_and_prefix(self, stage: Stage) -> None:
        """Docker looks for a full id, then a name, then a beginning of an id."""
        network = stage.network()

        for key in (network, stage.name("net"), network[:20]):
            found = stage.engine.inspect_network(key)
            assert found is not None
            assert found.id == network
        assert stage.engine.inspect_network(GONE) is None

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("second", [True, False])
    def test_name_is_unique(self, stage: Stage, first: bool, second: bool) -> None:
        """No second network of a name, config-only or not."""
        stage.network(config_only=first)

        with pytest.raises(Conflict, match="already exists"):
            stage.network(config_only=second)

    def test_config_only_takes_no_addresses(self, stage: Stage) -> None:
        """A config-only network holds labels, even long ones, and no pool."""
        long = "x" * 300_000
        spec = evolve(stage.network_spec(config_only=True), labels={**stage.labels, "long": long})
        found = stage.engine.inspect_network(stage.engine.create_network(spec))

        assert found is not None
        assert found.config_only
        assert not found.subnet
        assert found.labels["long"] == long
        assert found in stage.engine.networks()

    @pytest.mark.parametrize("size", ["0/24", "128/25"])
    def test_overlap_is_refused(self, stage: Stage, size: str) -> None:
        """Two networks share no address."""
        stage.network(subnet=stage.subnet())

        with pytest.raises(EngineRefused, match="Pool overlaps with other one on this address space") as caught:
            stage.network("other", subnet=stage.subnet().removesuffix("0/24") + size)
        assert not isinstance(caught.value, Conflict)
        assert caught.value.status == 403
        assert caught.value.fix

    @pytest.mark.parametrize("subnet", ["10.999.0.0/24", "10.77.0", "10.80.0.5/24", "nonsense"])
    def test_invalid_subnet_is_refused(self, stage: Stage, subnet: str) -> None:
        """A subnet that is none makes no network."""
        with pytest.raises(EngineRefused) as caught:
            stage.network(subnet=subnet)

        assert caught.value.status == 400

    def test_gateway_must_be_inside(self, stage: Stage) -> None:
        """A gateway is an address of the subnet."""
        with pytest.raises(EngineRefused, match="doesn't contain this address"):
            stage.network(subnet=stage.subnet(), gateway="192.0.2.1")

    def test_remove(self, stage: Stage) -> None:
        """A removed network is gone, and then not there to be removed."""
        network = stage.network()
        stage.engine.remove_network(network)

        assert stage.engine.inspect_network(network) is None
        with pytest.raises(NotFound):
            stage.engine.remove_network(network)

    def test_with_running_container_is_not_removed(self, stage: Stage) -> None:
        """Active endpoints keep a network."""
        network = stage.network()
        stage.running(endpoints=(stage.place(),))

        with pytest.raises(Conflict, match="has active endpoints"):
            stage.engine.remove_network(network)

    def test_predefined_is_not_removed(self, stage: Stage) -> None:
        """Docker keeps its own networks."""
        with pytest.raises(EngineRefused, match="pre-defined"):
            stage.engine.remove_network("bridge")

    def test_containers_that_do_not_run_do_not_keep_it(self, stage: Stage) -> None:
        """A container that never ran finds a new network of the name; one that did looks for the old network."""
        network = stage.network()
        fresh = stage.container("fresh", endpoints=(stage.place(),))
        stopped = stage.running("stopped", endpoints=(stage.place(),))
        stage.engine.stop(stopped, grace=0)
        stage.engine.remove_network(network)

        for container in (fresh, stopped):
            with pytest.raises(NotFound, match="not found"):
                stage.engine.start(container)

        stage.network()
        stage.engine.start(fresh)
        with pytest.raises(NotFound, match=network):
            stage.engine.start(stopped)


class TestVolumes:
    """Volumes."""

    def test_create_returns_the_old_one(self, stage: Stage) -> None:
        """Labels of a second create call are ignored."""
        first = stage.engine.create_volume(stage.name("v"), {**stage.labels, "which": "first"})
        second = stage.engine.create_volume(stage.name("v"), {**stage.labels, "which": "second"})

        assert first == second
        assert first.labels["which"] == "first"
        assert (first.name, first.driver) == (stage.name("v"), "local")
        assert first in stage.engine.volumes()

    def test_bad_name_is_refused(self, stage: Stage) -> None:
        """A volume's name has no spaces."""
        with pytest.raises(EngineRefused, match="invalid characters"):
            stage.engine.create_volume("a b", stage.labels)

    def test_remove(self, stage: Stage) -> None:
        """A removed volume is gone, and then not there to be removed."""
        stage.engine.create_volume(stage.name("v"), stage.labels)
        stage.engine.remove_volume(stage.name("v"))

        assert stage.name("v") not in {volume.name for volume in stage.engine.volumes()}
        with pytest.raises(NotFound):
            stage.engine.remove_volume(stage.name("v"))

    def test_in_use_is_kept(self, stage: Stage) -> None:
        """A volume stays as long as any container mounts it, also one that never ran."""
        container = stage.container(mounts=(stage.volume("v", "/data"),))

        with pytest.raises(Conflict, match="volume is in use"):
            stage.engine.remove_volume(stage.name("v"))
        stage.engine.remove_container(container)
        stage.engine.remove_volume(stage.name("v"))

    def test_removing_both_at_once_in_a_row_works(self, stage: Stage) -> None:
        """A volume can be removed right after its container, which ran."""
        for number in range(5):
            base = f"v{number}"
            container = stage.running(base, mounts=(stage.volume(base, "/data"),))
            stage.engine.remove_container(container)
            stage.engine.remove_volume(stage.name(base))

    def test_missing_one_is_made_in_silence(self, stage: Stage) -> None:
        """Creating a container makes its missing volumes, with the labels that the mount says, if any."""
        marks = {"sindplan.test.of": "it"}
        mounts = (stage.volume("v", "/data"), stage.volume("w", "/more", labels=marks))
        container = stage.container(mounts=mounts)
        # One that is there keeps its own.
        stage.container("other", mounts=(stage.volume("v", "/data", labels=marks),))
        found = {volume.name: volume.labels for volume in stage.engine.volumes()}

        assert (found[stage.name("v")], found[stage.name("w")]) == ({}, marks)
        assert stage.engine.inspect_container(container).spec.mounts == mounts

    def test_copy_up_keeps_owners_and_modes(self, stage: Stage) -> None:
        """What the image has is copied as it is, the folder itself too; a volume that holds anything stays as it is."""
        expected = stage.engine.get_files(stage.container("bare"), "/etc/munge")
        assert set(expected) == {"/etc/munge"}
        filled = stage.container("filled", mounts=(stage.volume("v", "/etc/munge", no_copy=False),))

        assert stage.engine.get_files(filled, "/etc/munge") == expected
        # Still empty, whoever owns it.
        again = stage.container("again", mounts=(stage.volume("v", "/etc/ssh", no_copy=False),))
        assert stage.engine.has_file(again, "/etc/ssh/ssh_config")

        holder = stage.container("holder", mounts=(stage.volume("w", "/mnt"),))
        stage.engine.put_files(holder, [Entry(path="/mnt/key")])
        other = stage.container("other", mounts=(stage.volume("w", "/etc/ssh", no_copy=False),))
        assert set(stage.engine.get_files(other, "/etc/ssh")) == {"/etc/ssh", "/etc/ssh/key"}

    def test_copy_up(self, stage: Stage) -> None:
        """An empty volume gets what the image has there, unless told not to; also when read-only."""
        container = stage.container(
            mounts=(
                stage.volume("filled", "/etc/ssh", no_copy=False, read_only=True),
                stage.volume("empty", "/mnt", no_copy=True),
            )
        )

        assert stage.engine.has_file(container, "/etc/ssh/ssh_config")
        other = stage.container("other", mounts=(stage.volume("filled", "/mnt"),))
        assert stage.engine.has_file(other, "/mnt/ssh_config")
        bare = stage.container("bare", mounts=(stage.volume("bare", "/etc/ssh"),))
        assert not stage.engine.has_file(bare, "/etc/ssh/ssh_config")


class TestCreation:
    """Creating containers, and seeing them."""

    def test_what_is_created_is_observed(self, stage: Stage) -> None:
        """Every field comes back as it was given (see sindplan.engine.inspection for what cannot)."""
        stage.network(subnet=stage.subnet(), gateway=stage.address(1))
        stage.network("mesh")
        spec = stage.spec(
            endpoints=(stage.place("net", address=stage.address(20), gw_priority=7), stage.place("mesh")),
            hostname="worker-0.dev",
            entrypoint=("sleep",),
            command=("infinity",),
            mounts=(
                stage.volume("config", "/etc/slurm"),
                stage.volume("data", "/data", read_only=True),
                stage.volume("db", "/var/lib/db", no_copy=False),
            ),
            tmpfs={"/tmp": "rw,size=64m", "/run": "exec,mode=755", "/run/lock": ""},
            shm_size=32 * 1024 * 1024,
            dns=("192.0.2.53",),
            dns_search=("dev.sind.sind",),
            extra_hosts=("controller:192.0.2.10",),
            cap_add=("SYS_NICE", "NET_ADMIN"),
            cap_drop=("MKNOD",),
            devices=("/dev/fuse:/dev/fuse:rwm", "/dev/null:/dev/nothing:r", "/dev/zero:/dev/nil:rw"),
            security_opt=("writable-cgroups=true", "label=disable"),
            private_cgroup=True,
            init=True,
        )
        container = stage.engine.create_container(spec)
        found = stage.engine.inspect_container(container)
        image = stage.engine.image(stage.image)

        assert found is not None
        assert image is not None
        fixed = tuple(evolve(one, fixed=one.address, address="") for one in spec.endpoints)
        seen = tuple(evolve(one, network_id="") for one in found.spec.endpoints)
        assert evolve(found.spec, endpoints=seen) == evolve(
            spec, endpoints=fixed, labels={**image.labels, **spec.labels}
        )
        assert (found.id, found.name, found.image_id) == (container, spec.name, image.id)
        assert (found.state, found.exit_code, found.started_at) == ("created", 0, "")

    def test_what_is_observed_stays_so(self, stage: Stage) -> None:
        """Starting, stopping and new limits change nothing else: what was equal once is equal for ever."""
        stage.network(subnet=stage.subnet(), gateway=stage.address(1))
        stage.network("mesh")
        container = stage.container(
            endpoints=(stage.place("net", address=stage.address(20), gw_priority=1), stage.place("mesh")),
            mounts=(
                stage.volume("v", "/data"),
                stage.volume("w", "/etc/ssh", no_copy=False, read_only=True),
                Mount(target="/host", kind="bind", source="/srv", read_only=True, propagation="rslave"),
            ),
            tmpfs={"/tmp": "rw,nosuid,nodev,size=256m", "/run": "exec,mode=755,size=64m", "/run/lock": ""},
            shm_size=256 * 1024 * 1024,
            cap_add=("SYS_NICE",),
            cap_drop=("MKNOD",),
            devices=("/dev/null:/dev/fakegpu0:rwm",),
            security_opt=("label=disable", "writable-cgroups=true", "systempaths=unconfined"),
            private_cgroup=True,
        )

        def seen() -> ContainerSpec:
            found = stage.engine.inspect_container(container)
            assert found is not None
            return evolve(
                found.spec,
                endpoints=tuple(evolve(one, address="", network_id="") for one in found.spec.endpoints),
                cpus=None,
                memory=None,
            )

        first = seen()
        stage.engine.start(container)
        assert seen() == first
        stage.engine.update_limits(container, 1, 512 * 1024 * 1024)
        assert seen() == first
        stage.engine.stop(container, grace=0)
        assert seen() == first
        stage.engine.start(container)
        assert seen() == first

    def test_image_fills_in(self, stage: Stage) -> None:
        """Labels and command of the image show unless they are given."""
        image = stage.engine.image(stage.image)
        plain = stage.engine.inspect_container(stage.container("plain", entrypoint=None))
        own = stage.engine.inspect_container(stage.container("own", labels={**stage.labels, "sind.slurm.version": ""}))

        assert image is not None
        assert plain is not None
        assert own is not None
        assert plain.spec.command
        assert plain.labels == {**image.labels, **stage.labels}
        assert own.spec.command is None
        assert own.labels["sind.slurm.version"] == ""

    def test_defaults_are_observed(self, stage: Stage) -> None:
        """A spec with nothing in it has nothing in it, but for the private cgroup of cgroup v2."""
        spec = stage.spec()
        found = stage.engine.inspect_container(stage.engine.create_container(spec))
        image = stage.engine.image(stage.image)

        assert found is not None
        assert image is not None
        assert found.spec == evolve(spec, labels={**image.labels, **spec.labels}, private_cgroup=True)
        assert found.memory_swap is None

    def test_limits_are_kept_or_dropped(self, stage: Stage) -> None:
        """An engine keeps the limits that it can hold and drops the others without an error."""
        info = stage.engine.info()
        memory = 64 * 1024 * 1024
        container = stage.container(cpus=1, memory=memory)
        found = stage.engine.inspect_container(container)

        assert found is not None
        assert found.spec.cpus == (1 if info.cpu_limit else None)
        assert found.spec.memory == found.memory_swap == (memory if info.memory_limit else None)

        stage.engine.update_limits(container, 2, 2 * memory)
        found = stage.engine.inspect_container(container)
        assert found is not None
        assert found.spec.cpus == (2 if info.cpu_limit else None)
        assert found.spec.memory == found.memory_swap == (2 * memory if info.memory_limit else None)

    def test_more_cpus_than_the_host_has_are_taken(self, stage: Stage) -> None:
        """A quota may be larger than the host: Docker checks that for NanoCpus only."""
        assert stage.container(cpus=stage.engine.info().cpus + 1)

    def test_too_little_memory_is_refused(self, stage: Stage) -> None:
        """Less than 6 MiB is refused, whatever the engine can hold."""
        with pytest.raises(EngineRefused, match="Minimum memory limit allowed is 6MB"):
            stage.container(memory=1024 * 1024)
        container = stage.container()
        with pytest.raises(EngineRefused, match="Minimum memory limit allowed is 6MB"):
            stage.engine.update_limits(container, None, 1024 * 1024)

    def test_name_is_taken(self, stage: Stage) -> None:
        """A name has one container."""
        container = stage.container()

        with pytest.raises(Conflict, match="already in use by container") as caught:
            stage.container()
        assert container in caught.value.text
        assert caught.value.verb == "create_container"

    @pytest.mark.parametrize(
        ("more", "text"),
        [
            (
                {"mounts": (Mount(target="/x", kind="bind", source="/no/such/folder"),)},
                "bind source path does not exist",
            ),
            (
                {"mounts": (Mount(target="/x", kind="bind", source="/srv", propagation="sideways"),)},
                "invalid propagation mode: sideways",
            ),
            ({"mounts": (Mount(target="/x", kind="volume", source="v w"),)}, "includes invalid characters"),
            ({"mounts": (Mount(target="/x", kind="volume", source="v"),)}, "volume name is too short"),
            ({"mounts": (Mount(target="x", kind="volume", source="vv"),)}, "mount path must be absolute"),
            ({"mounts": (Mount(target="/x", kind="bind", source="/srv"),) * 2}, "Duplicate mount point"),
            ({"tmpfs": {"x": ""}}, "mount path must be absolute"),
            ({"extra_hosts": ("nonsense",)}, "bad format for add-host"),
        ],
    )
    def test_nonsense_is_refused(self, stage: Stage, more: dict[str, object], text: str) -> None:
        """What cannot be is refused at the create call, and nothing is left."""
        with pytest.raises(EngineRefused, match=text):
            stage.container(**more)

        assert stage.engine.inspect_container(stage.name("one")) is None

    def test_bad_name_is_refused(self, stage: Stage) -> None:
        """A name has no spaces."""
        with pytest.raises(EngineRefused, match="Invalid container name"):
            stage.container("a b")

    def test_unknown_image_is_not_found(self, stage: Stage) -> None:
        """A container needs its image."""
        with pytest.raises(NotFound, match="No such image") as caught:
            stage.container(image="nobody/nothing:0")
        assert caught.value.fix

    def test_unknown_network_shows_at_the_start(self, stage: Stage) -> None:
        """Docker takes any network name at the create call; the container stays when the start fails."""
        container = stage.container(endpoints=(stage.place("absent"),))

        with pytest.raises(NotFound, match="not found"):
            stage.engine.start(container)
        found = stage.engine.inspect_container(container)
        assert found is not None
        assert (found.state, found.exit_code) == ("created", 128)

    def test_bad_host_name_shows_at_the_start(self, stage: Stage) -> None:
        """Docker takes a host name that Linux does not."""
        container = stage.container(hostname="a" * 70)

        with pytest.raises(EngineRefused, match="sethostname"):
            stage.engine.start(container)

    def test_is_found_by_id_name_and_prefix(self, stage: Stage) -> None:
        """Docker looks for a full id, then a name, then a beginning of an id."""
        container = stage.container()

        for key in (container, stage.name("one"), container[:20]):
            found = stage.engine.inspect_container(key)
            assert found is not None
            assert found.id == container
        assert stage.engine.inspect_container(GONE) is None
        assert stage.engine.inspect_container("") is None

    def test_list_shows_all(self, stage: Stage) -> None:
        """One call tells whose each container is, and how it is."""
        network = stage.network()
        running = stage.running("run", endpoints=(stage.place(),))
        created = stage.container("new")
        lines = {line.id: line for line in stage.engine.containers() if line.labels.get(LABEL) == stage.run}

        assert set(lines) == {running, created}
        assert (lines[running].name, lines[running].state) == (stage.name("run"), "running")
        assert (lines[created].state, dict(lines[created].networks)) == ("created", {})
        assert lines[running].networks == {stage.name("net"): network}
        assert lines[running].image == stage.image
        image = stage.engine.image(stage.image)
        assert image is not None
        assert lines[running].image_id == image.id


class TestAddresses:
    """Containers on networks."""

    def test_appear_at_start_and_vanish_at_stop(self, stage: Stage) -> None:
        """A stopped container has no address and is no member; what it was given stays."""
        network = stage.network(subnet=stage.subnet(), ip_range=stage.address(128) + "/25")
        container = stage.container(endpoints=(stage.place(address=stage.address(20)),))
        chosen = stage.container("chosen", endpoints=(stage.place(),))

        def seen(which: str) -> Endpoint:
            found = stage.engine.inspect_container(which)
            assert found is not None
            endpoint = found.endpoint(stage.name("net"))
            assert endpoint is not None
            return endpoint

        def members() -> dict[str, str]:
            found = stage.engine.inspect_network(network)
            assert found is not None
            return dict(found.members)

        assert (seen(container).address, seen(container).fixed) == ("", stage.address(20))
        assert members() == {}
        stage.engine.start(container)
        stage.engine.start(chosen)
        assert (seen(container).address, seen(container).network_id) == (stage.address(20), network)
        assert int(seen(chosen).address.rpartition(".")[2]) >= 128
        assert members() == {container: stage.name("one"), chosen: stage.name("chosen")}
        stage.engine.pause(container)
        assert container in members()
        stage.engine.stop(container, grace=0)
        assert (seen(container).address, seen(container).fixed) == ("", stage.address(20))
        assert members() == {chosen: stage.name("chosen")}

    def test_taken_shows_at_the_start(self, stage: Stage) -> None:
        """A replacement with the same address can be made while the old container runs, and started after."""
        stage.network(subnet=stage.subnet())
        place = stage.place(address=stage.address(20))
        old = stage.running("old", endpoints=(place,))
        new = stage.container("new", endpoints=(place,))

        with pytest.raises(Conflict, match="Address already in use"):
            stage.engine.start(new)
        found = stage.engine.inspect_container(new)
        assert found is not None
        assert found.state == "created"
        stage.engine.stop(old, grace=0)
        stage.engine.start(new)

    @pytest.mark.parametrize("last", [0, 1, 255])
    def test_reserved_is_taken(self, stage: Stage, last: int) -> None:
        """Network, gateway and broadcast address are nobody's."""
        stage.network(subnet=stage.subnet(), gateway=stage.address(1))
        container = stage.container(endpoints=(stage.place(address=stage.address(last)),))

        with pytest.raises(Conflict, match="Address already in use"):
            stage.engine.start(container)

    @pytest.mark.parametrize("address", ["192.0.2.7", "nonsense"])
    def test_outside_is_refused(self, stage: Stage, address: str) -> None:
        """A fixed address is one of the network's."""
        stage.network(subnet=stage.subnet())

        with pytest.raises(EngineRefused, match="no configured subnet or ip-range contain the IP address"):
            stage.container(endpoints=(stage.place(address=address),))

    def test_fixed_needs_a_subnet_that_was_asked_for(self, stage: Stage) -> None:
        """A subnet that Docker chose has no fixed addresses."""
        found = stage.engine.inspect_network(stage.network())
        assert found is not None
        address = found.gateway.rpartition(".")[0] + ".50"

        with pytest.raises(EngineRefused, match="networks with user configured subnets"):
            stage.container(endpoints=(stage.place(address=address),))

    def test_config_only_has_no_members(self, stage: Stage) -> None:
        """A config-only network takes nobody."""
        stage.network(config_only=True)
        container = stage.container(endpoints=(stage.place(),))

        with pytest.raises(EngineRefused, match="configuration-only network"):
            stage.engine.start(container)

    def test_connect_and_disconnect_while_running(self, stage: Stage) -> None:
        """A running container comes and goes at once."""
        stage.network()
        other = stage.network("other", subnet=stage.subnet())
        container = stage.running(endpoints=(stage.place(),))
        stage.engine.connect(other, container, stage.address(30), gw_priority=3)

        found = stage.engine.inspect_container(container)
        assert found is not None
        assert found.endpoint(stage.name("other")) == Endpoint(
            network=stage.name("other"),
            address=stage.address(30),
            fixed=stage.address(30),
            gw_priority=3,
            network_id=other,
        )
        with pytest.raises(Conflict, match="already exists in network"):
            stage.engine.connect(other, container)

        stage.engine.disconnect(other, container)
        stage.engine.disconnect(other, container)
        found = stage.engine.inspect_container(container)
        assert found is not None
        assert found.endpoint(stage.name("other")) is None
        stage.engine.remove_network(other)

    def test_connect_and_disconnect_before_the_start(self, stage: Stage) -> None:
        """A container that does not run is told where to go."""
        stage.network()
        other = stage.network("other", subnet=stage.subnet())
        container = stage.container(endpoints=(stage.place(),))
        stage.engine.connect(other, container, stage.address(30))

        with pytest.raises(Conflict, match="already exists in network"):
            stage.engine.connect(other, container, stage.address(31))
        stage.engine.disconnect(stage.name("net"), container)
        stage.engine.start(container)
        found = stage.engine.inspect_container(container)
        assert found is not None
        assert [(one.network, one.address) for one in found.spec.endpoints] == [
            (stage.name("other"), stage.address(30))
        ]

    def test_failed_connect_leaves_its_wish(self, stage: Stage) -> None:
        """Docker keeps the endpoint that could not be had; connecting again or disconnecting mends that."""
        stage.network()
        other = stage.network("other", subnet=stage.subnet())
        stage.running("first", endpoints=(stage.place("other", address=stage.address(30)),))
        container = stage.running(endpoints=(stage.place(),))

        with pytest.raises(Conflict, match="Address already in use"):
            stage.engine.connect(other, container, stage.address(30))
        found = stage.engine.inspect_container(container)
        assert found is not None
        wish = found.endpoint(stage.name("other"))
        assert wish is not None
        assert (wish.address, wish.fixed) == ("", stage.address(30))
        stage.engine.connect(other, container, stage.address(31))
        found = stage.engine.inspect_container(container)
        assert found is not None
        wish = found.endpoint(stage.name("other"))
        assert wish is not None
        assert wish.address == stage.address(31)

    def test_connect_of_nothing(self, stage: Stage) -> None:
        """Both must be there; a container without networks stays so."""
        network = stage.network(subnet=stage.subnet())
        container = stage.container(endpoints=(stage.place(),))
        lonely = stage.container("lonely")

        with pytest.raises(NotFound):
            stage.engine.connect(network, GONE)
        with pytest.raises(NotFound):
            stage.engine.connect(GONE, container)
        with pytest.raises(NotFound):
            stage.engine.disconnect(network, GONE)
        stage.engine.disconnect(GONE, container)
        with pytest.raises(EngineRefused, match="private \\(none\\) mode"):
            stage.engine.connect(network, lonely)
        with pytest.raises(EngineRefused, match="no configured subnet"):
            stage.engine.connect(stage.network("other", subnet=stage.subnet(1)), container, "192.0.2.1")


class TestLife:
    """Starting, stopping and what lies between."""

    def test_start_and_stop_twice(self, stage: Stage) -> None:
        """What is so already is success."""
        container = stage.container()
        stage.engine.stop(container)
        stage.engine.start(container)
        first = stage.engine.inspect_container(container)
        stage.engine.start(container)

        assert first is not None
        assert first.started_at
        assert first == stage.engine.inspect_container(container)
        stage.engine.stop(container, grace=0)
        stage.engine.stop(container, grace=0)
        found = stage.engine.inspect_container(container)
        assert found is not None
        assert (found.state, found.exit_code) == ("exited", 137)
        stage.engine.start(container)
        again = stage.engine.inspect_container(container)
        assert again is not None
        assert again.state == "running"
        assert again.started_at > first.started_at

    def test_polite_stop(self, stage: Stage) -> None:
        """With Docker's init in front a command ends by the stop signal, long before the grace is over."""
        container = stage.running(init=True)
        stage.engine.stop(container, grace=30)

        found = stage.engine.inspect_container(container)
        assert found is not None
        assert found.state == "exited"
        assert found.exit_code not in (0, 137)

    def test_pause(self, stage: Stage) -> None:
        """A frozen container is neither started nor entered, but can be stopped."""
        container = stage.running()
        stage.engine.pause(container)

        found = stage.engine.inspect_container(container)
        assert found is not None
        assert found.state == "paused"
        with pytest.raises(Conflict):
            stage.engine.pause(container)
        with pytest.raises(Conflict):
            stage.engine.start(container)
        with pytest.raises(Conflict):
            stage.engine.execute(container, ["true"])
        stage.engine.unpause(container)
        assert stage.engine.execute(container, ["true"]).code == 0
        with pytest.raises(Conflict):
            stage.engine.unpause(container)
        stage.engine.pause(container)
        stage.engine.stop(container, grace=0)
        with pytest.raises(Conflict):
            stage.engine.pause(container)

    def test_kill(self, stage: Stage) -> None:
        """A killed container has exited with 137; only what runs can be killed."""
        container = stage.running()
        stage.engine.kill(container, "HUP")
        stage.engine.kill(container)

        assert stage.engine.wait_exit(container, 20) == 137
        with pytest.raises(Conflict, match="is not running"):
            stage.engine.kill(container)

    def test_first_process_ends(self, stage: Stage) -> None:
        """A container exits with its first process."""
        container = stage.running(entrypoint=("sh", "-c", "echo done; exit 3"))

        assert stage.engine.wait_exit(container, 20) == 3
        found = stage.engine.inspect_container(container)
        assert found is not None
        assert (found.state, found.exit_code) == ("exited", 3)

    def test_wait_has_an_end(self, stage: Stage) -> None:
        """Waiting for what does not happen is a time-out."""
        container = stage.running()

        with pytest.raises(EngineTimeout):
            stage.engine.wait_exit(container, 0.5)

    def test_wait_for_one_that_never_ran(self, stage: Stage) -> None:
        """A container that does not run has ended, also before its first start."""
        assert stage.engine.wait_exit(stage.container(), 5) == 0

    def test_rename(self, stage: Stage) -> None:
        """A name is free once its container has another, and taken by that."""
        old = stage.running("old")
        stage.engine.rename(old, stage.name("older"))
        new = stage.container("old")

        found = stage.engine.inspect_container(stage.name("older"))
        assert found is not None
        assert found.id == old
        with pytest.raises(Conflict, match="already in use"):
            stage.engine.rename(new, stage.name("older"))
        with pytest.raises(EngineRefused):
            stage.engine.rename(new, stage.name("old"))
        with pytest.raises(EngineRefused, match="Invalid container name"):
            stage.engine.rename(new, "a b")

    def test_remove(self, stage: Stage) -> None:
        """A container is removed as it is, running or frozen, and its name is free."""
        running, frozen, created = stage.running("a"), stage.running("b"), stage.container("c")
        stage.engine.pause(frozen)

        for container in (running, frozen, created):
            stage.engine.remove_container(container)
            assert stage.engine.inspect_container(container) is None
            with pytest.raises(NotFound):
                stage.engine.remove_container(container)
        stage.container("a")

    def test_parallel_removal_ends_once_it_is_gone(self, stage: Stage) -> None:
        """Of several who remove a container, each finds it gone afterwards."""
        container = stage.running()
        outcomes: list[str] = []

        def remove() -> None:
            try:
                stage.engine.remove_container(container)
            except NotFound:
                outcomes.append("not found")
            else:
                outcomes.append("gone" if stage.engine.inspect_container(container) is None else "there")

        threads = [threading.Thread(target=remove) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert "gone" in outcomes
        assert set(outcomes) <= {"gone", "not found"}
        assert len(outcomes) == 4

    @pytest.mark.parametrize(
        "verb", ["start", "stop", "pause", "unpause", "kill", "remove_container", "has_file", "get_files", "logs"]
    )
    def test_nothing_of_that_name(self, stage: Stage, verb: str) -> None:
        """What is not there is not found, by every verb, and neither is an empty name."""
        more = {"has_file": ["/etc"], "get_files": ["/etc"]}.get(verb, [])

        for name in (GONE, ""):
            with pytest.raises(NotFound) as caught:
                getattr(stage.engine, verb)(name, *more)
            assert caught.value.verb == verb

    def test_nothing_of_that_name_for_the_others(self, stage: Stage) -> None:
        """What is not there is not found."""
        engine = stage.engine
        with pytest.raises(NotFound):
            engine.rename(GONE, stage.name("x"))
        with pytest.raises(NotFound):
            engine.update_limits(GONE, 1, None)
        with pytest.raises(NotFound):
            engine.put_files(GONE, [Entry(path="/x")])
        with pytest.raises(NotFound):
            engine.execute(GONE, ["true"])
        with pytest.raises(NotFound):
            engine.wait_exit(GONE, 5)
        with pytest.raises(NotFound):
            engine.wait_output(GONE, "x", 5)


class TestFiles:
    """Archives in and out."""

    def test_what_is_put_is_got(self, stage: Stage) -> None:
        """Content, owner, mode, links and empty folders come back; missing parents are root's, 0755."""
        container = stage.container(mounts=(stage.volume("v", "/etc/slurm"),))
        entries = [
            Entry(path="/etc/slurm", kind="dir", mode=0o750, uid=64030, gid=64031),
            Entry(path="/etc/slurm/slurm.conf", content=b"ClusterName=dev\n\x00\xff", mode=0o640, uid=64030, gid=7),
            Entry(path="/etc/slurm/empty", content=b"", mode=0o4755),
            Entry(path="/etc/slurm/deep/er/file", content=b"x", uid=3_000_000, gid=3_000_000),
            Entry(path="/etc/slurm/link", kind="link", link="deep/er", mode=0o777),
            Entry(path="/etc/slurm/dangling", kind="link", link="/no/where", mode=0o777),
            Entry(path="/etc/slurm/nothing", kind="dir", mode=0o700),
            Entry(path="/etc/slurm/" + "n" * 180 + "ä €", content=b"y"),
        ]
        stage.engine.put_files(container, entries)
        found = stage.engine.get_files(container, "/etc/slurm")

        expected = {entry.path: entry for entry in entries}
        for parent in ("/etc/slurm/deep", "/etc/slurm/deep/er"):
            expected[parent] = Entry(path=parent, kind="dir", mode=0o755)
        assert dict(found) == expected
        other = stage.container("other", mounts=(stage.volume("v", "/mnt", read_only=True),))
        assert {path.replace("/etc/slurm", "/mnt") for path in expected} == set(stage.engine.get_files(other, "/mnt"))

    @pytest.mark.parametrize("states", [("created", "created"), ("running", "created"), ("exited", "created")])
    def test_a_folder_is_copied_from_one_container_to_another(self, stage: Stage, states: tuple[str, str]) -> None:
        """With owners, modes, links and what is in volumes, also into a container that never ran."""
        source = stage.container("one")
        target = stage.container("two", mounts=(stage.volume("v", "/var/state"),))
        entries = [
            Entry(path="/var/state", kind="dir", mode=0o750, uid=64030, gid=64030),
            Entry(path="/var/state/jobs", kind="dir", mode=0o700, uid=64030, gid=7),
            Entry(path="/var/state/jobs/key", content=bytes(range(256)) * 5000, mode=0o600, uid=64030, gid=7),
            Entry(path="/var/state/link", kind="link", link="jobs/key", mode=0o777),
        ]
        stage.engine.put_files(source, entries)
        if states[0] != "created":
            stage.engine.start(source)
        if states[0] == "exited":
            stage.engine.stop(source, grace=0)

        stage.engine.copy_files(source, target, "/var/state")

        expected = {entry.path: entry for entry in entries}
        assert dict(stage.engine.get_files(target, "/var/state")) == expected
        reader = stage.container("three", mounts=(stage.volume("v", "/mnt"),))
        assert {path.replace("/var/state", "/mnt") for path in expected} == set(stage.engine.get_files(reader, "/mnt"))

    def test_nothing_is_copied_of_what_is_not_there(self, stage: Stage) -> None:
        source, target = stage.container("one"), stage.container("two")
        with pytest.raises(NotFound):
            stage.engine.copy_files(source, target, "/no/where")
        with pytest.raises(NotFound):
            stage.engine.copy_files(GONE, target, "/etc")
        with pytest.raises(NotFound):
            stage.engine.copy_files(source, GONE, "/etc")

    @pytest.mark.parametrize("state", ["created", "running", "paused", "exited"])
    def test_work_in_every_state(self, stage: Stage, state: str) -> None:
        """Files are put, seen and got whatever the container does, and stay over a stop."""
        container = stage.container()
        if state != "created":
            stage.engine.start(container)
        if state == "paused":
            stage.engine.pause(container)
        if state == "exited":
            stage.engine.stop(container, grace=0)
        stage.engine.put_files(container, [Entry(path="/new/file", content=b"here")])

        assert stage.engine.has_file(container, "/new/file")
        assert stage.engine.get_files(container, "/new/file")["/new/file"].content == b"here"

    def test_last_one_wins(self, stage: Stage) -> None:
        """Of two entries of one path the later stays."""
        container = stage.container()
        stage.engine.put_files(container, [Entry(path="/f", content=b"1"), Entry(path="/f", content=b"2", mode=0o600)])

        assert stage.engine.get_files(container, "/f") == {"/f": Entry(path="/f", content=b"2", mode=0o600)}

    def test_nothing_there(self, stage: Stage) -> None:
        """A missing path is empty, also one through a file."""
        container = stage.container()
        stage.engine.put_files(container, [Entry(path="/file")])

        for path in ("/no/where", "/no", "/file/below"):
            assert stage.engine.get_files(container, path) == {}
            assert not stage.engine.has_file(container, path)
        assert stage.engine.has_file(container, "/")
        assert stage.engine.has_file(container, "/file")

    def test_links_on_the_way_are_followed(self, stage: Stage) -> None:
        """A link at the end of a path is a link; one before is where it leads."""
        container = stage.container()
        stage.engine.put_files(
            container,
            [
                Entry(path="/real/file", content=b"x"),
                Entry(path="/way", kind="link", link="/real"),
                Entry(path="/way/more", content=b"y"),
            ],
        )

        assert stage.engine.get_files(container, "/way")["/way"].link == "/real"
        assert set(stage.engine.get_files(container, "/way")) == {"/way"}
        assert stage.engine.get_files(container, "/way/file")["/way/file"].content == b"x"
        assert stage.engine.get_files(container, "/real/more")["/real/more"].content == b"y"
        stage.engine.put_files(container, [Entry(path="/dangling", kind="link", link="/no/where")])
        assert stage.engine.has_file(container, "/dangling")

    def test_limit(self, stage: Stage) -> None:
        """What is too large is refused, not cut."""
        container = stage.container()
        stage.engine.put_files(container, [Entry(path="/big", content=b"x" * 100_000)])

        assert len(stage.engine.get_files(container, "/big", limit=200_000)["/big"].content) == 100_000
        with pytest.raises(EngineRefused, match="larger than 50000 bytes"):
            stage.engine.get_files(container, "/big", limit=50_000)

    def test_read_only_volume_refuses(self, stage: Stage) -> None:
        """Nothing comes into a volume that is mounted read-only; what came before it in the archive stays."""
        container = stage.container(mounts=(stage.volume("v", "/ro", read_only=True),))

        with pytest.raises(EngineRefused, match="read-only file system") as caught:
            stage.engine.put_files(container, [Entry(path="/before"), Entry(path="/ro/x"), Entry(path="/after")])
        assert caught.value.status == 500
        assert stage.engine.has_file(container, "/before")
        assert not stage.engine.has_file(container, "/ro/x")
        assert not stage.engine.has_file(container, "/after")

    def test_tmpfs_hides(self, stage: Stage) -> None:
        """What is put below a tmpfs is there for archives, and never seen inside."""
        container = stage.container(tmpfs={"/tmp": ""})
        stage.engine.put_files(container, [Entry(path="/tmp/x", content=b"x"), Entry(path="/opt/x", content=b"x")])
        stage.engine.start(container)

        assert stage.engine.execute(container, ["cat", "/tmp/x"]).code == 1
        assert stage.engine.execute(container, ["cat", "/opt/x"]) == Executed(code=0, out="x", err="")
        assert stage.engine.has_file(container, "/tmp/x")

    def test_files_and_folders_do_not_replace_each_other(self, stage: Stage) -> None:
        """A mistaken entry does not throw a folder away."""
        container = stage.container()
        stage.engine.put_files(container, [Entry(path="/folder/file"), Entry(path="/file")])

        with pytest.raises(EngineRefused, match="cannot overwrite directory"):
            stage.engine.put_files(container, [Entry(path="/folder")])
        with pytest.raises(EngineRefused, match="cannot overwrite non-directory"):
            stage.engine.put_files(container, [Entry(path="/file", kind="dir")])
        with pytest.raises(EngineRefused, match="not a directory"):
            stage.engine.put_files(container, [Entry(path="/file/below")])
        assert stage.engine.has_file(container, "/folder/file")

    def test_docker_s_own_files_are_busy(self, stage: Stage) -> None:
        """A running container's hosts file is the engine's."""
        container = stage.container()
        stage.engine.put_files(container, [Entry(path="/etc/hosts", content=b"")])
        stage.engine.start(container)

        with pytest.raises(EngineRefused, match="device or resource busy"):
            stage.engine.put_files(container, [Entry(path="/etc/hosts", content=b"")])

    def test_no_entries(self, stage: Stage) -> None:
        """Putting nothing is nothing."""
        stage.engine.put_files(stage.container(), [])


class TestProcesses:
    """Commands and output."""

    def test_streams_and_code(self, stage: Stage) -> None:
        """Both streams and the code come back, apart."""
        container = stage.running()

        assert stage.engine.execute(container, ["sh", "-c", "echo out; echo err >&2; exit 3"]) == Executed(
            code=3, out="out\n", err="err\n"
        )
        assert stage.engine.execute(container, ["true"]) == Executed(code=0, out="", err="")
        assert stage.engine.execute(container, ["false"]).code == 1
        assert stage.engine.execute(container, ["echo", "ä", "€"]).out == "ä €\n"

    def test_missing_program(self, stage: Stage) -> None:
        """A program that is not there is 127 and says its name."""
        result = stage.engine.execute(stage.running(), ["no-such-program"])

        assert result.code == 127
        assert "no-such-program" in result.out + result.err

    def test_needs_a_running_container(self, stage: Stage) -> None:
        """Nothing is run in a container that does not run."""
        container = stage.container()
        with pytest.raises(Conflict, match="is not running"):
            stage.engine.execute(container, ["true"])
        stage.engine.start(container)
        stage.engine.stop(container, grace=0)
        with pytest.raises(Conflict, match="is not running"):
            stage.engine.execute(container, ["true"])

    def test_no_command(self, stage: Stage) -> None:
        """An empty command is refused."""
        container = stage.running()

        with pytest.raises(EngineRefused, match="No exec command specified"):
            stage.engine.execute(container, [])

    def test_two_threads_at_once(self, stage: Stage) -> None:
        """Each caller gets its own output."""
        container = stage.running()
        found: dict[int, str] = {}

        def run(number: int) -> None:
            found[number] = stage.engine.execute(container, ["echo", str(number)]).out

        threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert found == {number: f"{number}\n" for number in range(6)}

    def test_processes(self, stage: Stage) -> None:
        container = stage.container("one", init=True)
        with pytest.raises(Conflict):
            stage.engine.processes(container)
        stage.engine.start(container)

        assert stage.engine.processes(container) == ("docker-init", "sleep")
        with pytest.raises(NotFound):
            stage.engine.processes("nobody-has-this-name")

    def test_logs(self, stage: Stage) -> None:
        """The last lines are kept over starts."""
        container = stage.running(entrypoint=("sh", "-c", "echo one; echo two; echo three"))
        stage.engine.wait_exit(container, 20)

        assert stage.engine.logs(container) == "one\ntwo\nthree\n"
        assert stage.engine.logs(container, tail=2) == "two\nthree\n"
        stage.engine.start(container)
        stage.engine.wait_exit(container, 20)
        assert stage.engine.logs(container) == "one\ntwo\nthree\n" * 2
        assert stage.engine.logs(stage.container("new")) == ""

    def test_wait_output(self, stage: Stage) -> None:
        """A line is waited for; part of a line does not count, and neither does another run's."""
        container = stage.running(entrypoint=("sh", "-c", "echo not ready; echo ready; sleep infinity"))

        assert stage.engine.wait_output(container, "ready", 20)
        with pytest.raises(EngineTimeout):
            stage.engine.wait_output(container, "not", 0.5)

    def test_wait_output_of_one_that_ends(self, stage: Stage) -> None:
        """Waiting ends with the container; a line that was printed counts even then."""
        container = stage.running(entrypoint=("sh", "-c", "echo ready; exit 1"))

        assert not stage.engine.wait_output(container, "never", 20)
        assert stage.engine.wait_output(container, "ready", 20)
        assert not stage.engine.wait_output(stage.container("new"), "ready", 20)


def test_everything_is_an_engine_error(stage: Stage) -> None:
    """Whatever names are used, an answer is a result or an EngineError, never another exception."""
    for name in ("../volumes", "a/b", "%2e%2e", "ä", "x" * 3000, "a?b=c", "a#b", "\ud800"):
        assert stage.engine.inspect_container(name) is None
        with pytest.raises(EngineError):
            stage.engine.remove_container(name)
        with pytest.raises(EngineError):
            stage.engine.remove_volume(name)
