"""Capabilities, devices and security options: how they come back, what they do, and what is refused when."""

from collections.abc import Iterator

import pytest

from sindplan.engine.docker_sdk import DockerEngine
from sindplan.errors import EngineRefused
from sindplan.model.privileges import device
from tests.contract.stage import Stage

PROFILE = '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["swapon"],"action":"SCMP_ACT_ERRNO"}]}'


class TestObserved:
    """Each has one spelling, and what is given in it comes back the same."""

    @pytest.mark.parametrize(
        ("given", "seen"),
        [
            (("SYS_NICE", "NET_ADMIN"), ("SYS_NICE", "NET_ADMIN")),
            (("cap_sys_nice", "CAP_NET_ADMIN"), ("SYS_NICE", "NET_ADMIN")),
            (("ALL",), ("ALL",)),
            (("SYS_TIME", "CHOWN", "SYS_NICE", "CHOWN"), ("SYS_TIME", "CHOWN", "SYS_NICE", "CHOWN")),
        ],
    )
    def test_capabilities(self, stage: Stage, given: tuple[str, ...], seen: tuple[str, ...]) -> None:
        """Capitals, without CAP_, in the order in which they were given."""
        found = stage.engine.inspect_container(stage.container(cap_add=given, cap_drop=given))

        assert found is not None
        assert (found.spec.cap_add, found.spec.cap_drop) == (seen, seen)

    @pytest.mark.parametrize(
        ("given", "seen"),
        [
            ("/dev/null", "/dev/null:/dev/null:rwm"),
            ("/dev/null:/dev/fakegpu0", "/dev/null:/dev/fakegpu0:rwm"),
            ("/dev/null:/dev/fakegpu0:rwm", "/dev/null:/dev/fakegpu0:rwm"),
            ("/dev/null:r", "/dev/null:/dev/null:r"),
            ("/dev/null:/dev/fakegpu0:mwr", "/dev/null:/dev/fakegpu0:rwm"),
            ("/dev/null:/dev/sub/../fakegpu0/:w", "/dev/null:/dev/fakegpu0:w"),
            ("/dev/none-such", "/dev/none-such:/dev/none-such:rwm"),
            ("nvidia.com/gpu=all", "nvidia.com/gpu=all"),
        ],
    )
    def test_devices(self, stage: Stage, given: str, seen: str) -> None:
        """The spelling is that of `device`, which reads its own."""
        found = stage.engine.inspect_container(stage.container(devices=(given,)))

        assert found is not None
        assert found.spec.devices == (seen,)
        assert device(given) == device(seen) == seen

    def test_devices_of_both_kinds(self, stage: Stage) -> None:
        """Those of CDI come last, else the order stays."""
        given = ("nvidia.com/gpu=1", "/dev/zero:/dev/zero:rwm", "nvidia.com/gpu=0", "/dev/null:/dev/null:rwm")
        found = stage.engine.inspect_container(stage.container(devices=given))

        assert found is not None
        assert found.spec.devices == (given[1], given[3], given[0], given[2])

    @pytest.mark.parametrize(
        "options",
        [
            ("label=disable", "writable-cgroups=true"),
            ("label=type:container_t", "label=level:s0:c1,c2"),
            ("label:disable",),
            ("no-new-privileges",),
            ("no-new-privileges=true", "no-new-privileges:false"),
            ("seccomp=unconfined", "apparmor=unconfined"),
            ("seccomp=builtin", "apparmor=docker-default"),
            (f"seccomp={PROFILE}",),
            (f"seccomp= {PROFILE.replace(',', ' ,')}",),
            ("systempaths=unconfined",),
            ("label=disable", "seccomp=unconfined", "systempaths=unconfined"),
            (),
        ],
    )
    def test_security_options(self, stage: Stage, options: tuple[str, ...]) -> None:
        """They come back as they were given, and stay so."""
        container = stage.container(security_opt=options)
        found = stage.engine.inspect_container(container)
        stage.engine.start(container)
        again = stage.engine.inspect_container(container)

        assert found is not None
        assert again is not None
        assert found.spec.security_opt == again.spec.security_opt == options

    def test_system_paths_come_last(self, stage: Stage) -> None:
        """The engine does not have that one as an option, so its place is lost."""
        container = stage.container(security_opt=("systempaths=unconfined", "label=disable"))
        found = stage.engine.inspect_container(container)

        assert found is not None
        assert found.spec.security_opt == ("label=disable", "systempaths=unconfined")


class TestRefused:
    """What cannot be given."""

    @pytest.mark.parametrize(
        ("more", "status", "text"),
        [
            ({"cap_add": ("SYS_NICE", "NO_SUCH")}, 400, 'invalid CapAdd: unknown capability: "CAP_NO_SUCH"'),
            ({"cap_drop": ("cap_no_such",)}, 400, 'invalid CapDrop: unknown capability: "CAP_NO_SUCH"'),
            ({"cap_add": ("CAP_ALL",)}, 400, 'invalid CapAdd: unknown capability: "CAP_ALL"'),
            ({"security_opt": ("nonsense=x",)}, 500, 'invalid --security-opt 2: "nonsense=x"'),
            ({"security_opt": ("nonsense",)}, 500, 'invalid --security-opt 1: "nonsense"'),
            ({"security_opt": ("label",)}, 500, 'invalid --security-opt 1: "label"'),
            ({"security_opt": ("no-new-privileges=maybe",)}, 500, "invalid --security-opt 2"),
            ({"security_opt": ("writable-cgroups=maybe",)}, 500, "invalid --security-opt 2"),
            ({"security_opt": ("systempaths=confined",)}, 500, "invalid --security-opt 2"),
        ],
    )
    def test_at_the_create_call(self, stage: Stage, more: dict[str, object], status: int, text: str) -> None:
        """Names are looked at when a container is made, and nothing is left."""
        with pytest.raises(EngineRefused) as caught:
            stage.container(**more)

        assert text in caught.value.text
        assert caught.value.status == status
        assert caught.value.fix
        assert stage.engine.inspect_container(stage.name("one")) is None

    @pytest.mark.parametrize(
        ("more", "text"),
        [
            (
                {"devices": ("/dev/none-such:/dev/x:rwm",)},
                'error gathering device information while adding custom device "/dev/none-such": no such file or directory',
            ),
            (
                {"devices": ("nvidia.com/gpu=7", "/dev/null", "nvidia.com/gpu=8")},
                "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7, nvidia.com/gpu=8",
            ),
            ({"security_opt": ("seccomp={nonsense",)}, "Decoding seccomp profile failed: "),
            ({"security_opt": ("seccomp=[]",)}, "Decoding seccomp profile failed: "),
            ({"security_opt": ("seccomp=/etc/profile.json",)}, "Decoding seccomp profile failed: "),
        ],
    )
    def test_at_the_start(self, stage: Stage, more: dict[str, object], text: str) -> None:
        """What must be there, and what must be understood, shows at the start; the container stays."""
        container = stage.container(**more)
        for _ in range(2):
            with pytest.raises(EngineRefused) as caught:
                stage.engine.start(container)
            assert text in caught.value.text
            assert caught.value.status == 500
            assert caught.value.fix
        found = stage.engine.inspect_container(container)

        assert found is not None
        assert (found.state, found.exit_code) == ("created", 128)


@pytest.mark.engine
class TestEffect:
    """They are not only kept."""

    @pytest.fixture
    def stage(self, real_engine: DockerEngine) -> Iterator[Stage]:
        """A place on the real engine, cleaned afterwards."""
        stage = Stage(real_engine)
        yield stage
        stage.clean()

    def status(self, stage: Stage, **more: object) -> dict[str, str]:
        """Return what the kernel says of the first process of a container."""
        read = stage.engine.execute(stage.running("status", **more), ["cat", "/proc/1/status"]).out
        stage.engine.remove_container(stage.name("status"))
        return {key: value.strip() for key, _, value in (line.partition(":") for line in read.splitlines())}

    def test_of_capabilities(self, stage: Stage) -> None:
        sys_nice, mknod = 1 << 23, 1 << 27
        plain = int(self.status(stage)["CapEff"], 16)
        given = int(self.status(stage, cap_add=("SYS_NICE",), cap_drop=("MKNOD",))["CapEff"], 16)

        assert given == plain + sys_nice - mknod

    def test_of_devices(self, stage: Stage) -> None:
        container = stage.running(devices=("/dev/null:/dev/fakegpu0:rwm",))

        assert stage.engine.execute(container, ["test", "-c", "/dev/fakegpu0"]).code == 0
        assert stage.engine.execute(container, ["sh", "-c", "echo x > /dev/fakegpu0"]).code == 0

    def test_of_security_options(self, stage: Stage) -> None:
        plain = self.status(stage)
        given = self.status(stage, security_opt=("no-new-privileges", "seccomp=unconfined"))

        assert (plain["NoNewPrivs"], plain["Seccomp"]) == ("0", "2")
        assert (given["NoNewPrivs"], given["Seccomp"]) == ("1", "0")

    def test_of_a_seccomp_profile(self, stage: Stage) -> None:
        profile = (
            '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}'
        )
        container = stage.running(security_opt=(f"seccomp={profile}",))

        assert "Operation not permitted" in stage.engine.execute(container, ["mkdir", "/made"]).err

    def test_of_system_paths(self, stage: Stage) -> None:
        hidden = ["grep", "-c", " /proc/sys ", "/proc/mounts"]

        assert stage.engine.execute(stage.running("plain"), hidden).out == "1\n"
        assert (
            stage.engine.execute(stage.running("open", security_opt=("systempaths=unconfined",)), hidden).out == "0\n"
        )
