"""What `init` writes reads back without a problem."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.declaration import Declaration
from sindplan.statefile.bounds import SPELLINGS
from sindplan.statefile.initial import initial
from tests.statefile.reading import read_text
from tests.strategies import IMAGES, SETTINGS

NAMES = st.from_regex(SPELLINGS[Declaration, "name"].pattern, fullmatch=True)


@SETTINGS
@given(NAMES, st.sampled_from(IMAGES))
def test_reads_back(scratch: Path, name: str, image: str) -> None:
    declaration = read_text(scratch, initial(name, image))
    cluster = declaration.realms["sind"].clusters["dev"]
    assert (declaration.name, cluster.image) == (name, image)
    assert cluster.submitter is None
    assert {group: workers.count for group, workers in cluster.workers.items()} == {"cpu": 1}


def test_the_commented_lines_are_right_too(tmp_path: Path) -> None:
    text = initial("lab-7f3k", "sindplan-node:26.05").replace("# [realms", "[realms")
    assert read_text(tmp_path, text).realms["sind"].clusters["dev"].submitter is not None
