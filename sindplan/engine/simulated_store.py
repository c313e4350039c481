"""What a simulated engine holds: networks, volumes, containers and images that change in place."""

from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from sindplan.engine.records import Container, ContainerSpec, ContainerState, Endpoint, Entry, Network, Volume

# Files by absolute path below a root of their own; parents are always there, except the root.
Tree = dict[str, Entry]


@frozen(kw_only=True)
class SimulatedImage:
    """An image: what it has at each path, and what containers of it run by default."""

    id: str
    labels: Mapping[str, str]
    files: Mapping[str, Entry]
    entrypoint: tuple[str, ...] | None
    command: tuple[str, ...] | None


@define(kw_only=True)
class SimulatedNetwork:
    """A network; `record` has no members. `pinned` says that its subnet was asked for, not chosen by the engine."""

    record: Network
    pinned: bool


@define(kw_only=True)
class SimulatedVolume:
    """A volume and its content."""

    record: Volume
    tree: Tree = field(factory=dict)


@define(kw_only=True)
class SimulatedPlace:
    """A container's endpoint. Until the first start a network is known by its name, from then on by its id."""

    network: str
    fixed: str
    gw_priority: int
    network_id: str = ""
    address: str = ""

    def record(self) -> Endpoint:
        """Return it as inspect shows it."""
        return Endpoint(
            network=self.network,
            address=self.address,
            fixed=self.fixed,
            gw_priority=self.gw_priority,
            network_id=self.network_id,
        )


@define(kw_only=True)
class SimulatedContainer:
    """A container. `spec` is as observed, but for its endpoints, which are in `places` by network name."""

    id: str
    spec: ContainerSpec
    image_id: str
    mode: str
    places: dict[str, SimulatedPlace]
    layer: Tree
    state: ContainerState = "created"
    exit_code: int = 0
    oom_killed: bool = False
    started_at: str = ""
    tmpfs: dict[str, Tree] = field(factory=dict)
    # What earlier starts printed.
    history: list[str] = field(factory=list)

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def alive(self) -> bool:
        """Whether it has processes, frozen or not."""
        return self.state in ("running", "paused")

    def ordered(self) -> list[SimulatedPlace]:
        """Return its places in the order in which Docker shows and joins them."""
        return sorted(self.places.values(), key=lambda place: (self.mode != place.network, place.network))

    def record(self) -> Container:
        """Return it as inspect shows it."""
        return Container(
            id=self.id,
            spec=evolve(self.spec, endpoints=tuple(place.record() for place in self.ordered())),
            image_id=self.image_id,
            state=self.state,
            exit_code=self.exit_code,
            oom_killed=self.oom_killed,
            started_at=self.started_at,
            memory_swap=self.spec.memory,
        )
