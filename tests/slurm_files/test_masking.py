"""No password in Slurm's text is ever seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.slurm.masking import HIDDEN, STORAGE_PASSWORD, holds_placeholders, masked
from sindplan.slurm.text import spelled, statements
from tests.slurm_files.test_text import TEXTS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("StoragePass=x\n", "StoragePass=<hidden>\n"),
        ('StoragePass="a b"\n', "StoragePass=<hidden>\n"),
        ("storagepass = x # why\n", "storagepass = <hidden> # why\n"),
        ("StoragePass\t=\t'x'\r\nA=1", "StoragePass\t=\t<hidden>\r\nA=1"),
        (
            "A=1 JobCompPass=x B=2 AccountingStoragePass=y\n",
            "A=1 JobCompPass=<hidden> B=2 AccountingStoragePass=<hidden>\n",
        ),
        ("StoragePass=\\\n  x\nA=1\n", "StoragePass=\\\n  <hidden>\nA=1\n"),
        ("StoragePass \\\n = \\\n x \\\n A=1\n", "StoragePass \\\n = \\\n <hidden> \\\n A=1\n"),
        ("StoragePass=se\\\ncr\\\net A=1\n", "StoragePass=<hidden> A=1\n"),
        ("Stor\\agePa\\\nss=x A=1\n", "Stor\\agePa\\\nss=<hidden> A=1\n"),
        ("# StoragePass=old\n#StoragePass=older\n", "# StoragePass=<hidden>\n#StoragePass=<hidden>\n"),
        ("StoragePass=a#b\nStoragePass=\\#b\\\\\n", "StoragePass=<hidden>\nStoragePass=<hidden>\n"),
        ('StoragePass="never closed\nA=1\n', "StoragePass=<hidden>\nA=1\n"),
        ('StoragePass="a"b c\nA=1\n', "StoragePass=<hidden>\nA=1\n"),
        ("AuthInfo=socket=/x,password=y,z\n", "AuthInfo=socket=/x,password=<hidden>\n"),
        ("StoragePass+=x\n", "StoragePass+=<hidden>\n"),
        ("StoragePass=\nA=1\n", "StoragePass=\nA=1\n"),
        ("StoragePass=Pass=x\n", "StoragePass=<hidden>\n"),
        (
            "JobCompLoc=http://u:x@h:9200/db # http://u@h:1/\n",
            "JobCompLoc=http://u:<hidden>@h:9200/db # http://u@h:1/\n",
        ),
        (
            'JobCompLoc="http://u:x@y@h/" A=http://h:80/a:b@c\n',
            'JobCompLoc="http://u:<hidden>@h/" A=http://h:80/a:b@c\n',
        ),
        ("JobCompLoc=http://u:se\\\n  cret@h/\n", "JobCompLoc=http://u:<hidden>@h/\n"),
        ("Reason=bypass\nA=passport\n", "Reason=bypass\nA=passport\n"),
        (f"StoragePass={STORAGE_PASSWORD}\n", "StoragePass=<hidden>\n"),
        ("", ""),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("StoragePass=<hidden>\n", True),
        ("A=1 JobCompPass = <hidden> B=2\n", True),
        ("StoragePass=\\\n  <hidden>\n", True),
        ("Stor\\agePa\\\nss=<hidden>\n", True),
        ("JobCompLoc=http://u:<hidden>@h/db\n", True),
        ("StoragePass=x\n", False),
        ("# StoragePass=<hidden>\nStoragePass=x # JobCompLoc=http://u:<hidden>@h\n", False),
        ("Comment=<hidden>\nJobCompLoc=http://u:x@h/<hidden>\n", False),
        (f"StoragePass={STORAGE_PASSWORD}\n", False),
        ("", False),
    ],
)
def test_what_was_masked_is_told_from_what_was_not(text: str, holds: bool) -> None:
    assert holds_placeholders(text) is holds


KEYS = ("StoragePass", "STORAGEPASS", "DbPassword", "pass", "JobCompPass")
OTHERS = st.sampled_from(
    [
        "",
        "\n",
        "# a comment\n",
        "A=1\n",
        "NodeName=a CPUs=1 \\\n State=UP\n",
        'Reason="a b"\r\n',
        "Epilog=/x\\#y\n",
        "é\n",
    ]
)
SECRETS = st.text("Q9$#\\!é", min_size=3, max_size=8).map(lambda tail: f"s3kr3t{tail}") | st.just("s3kr3t with blanks")


@st.composite
def with_secrets(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    """Draw a text, what of it may be seen, and the secrets in it."""
    text, shown, secrets = "", "", []
    for _ in range(draw(st.integers(0, 4))):
        other, secret = draw(OTHERS), draw(SECRETS)
        before = draw(st.sampled_from(["", "A=1 ", "A=1 \\\n"])) + draw(st.sampled_from(KEYS))
        before += draw(st.sampled_from(["=", " = ", "\t=\\\n ", " \\\r\n="]))
        after = draw(st.sampled_from(["\n", "\r\n", " B=2\n", " \\\nB=2\n", " # c\n"]))
        value = spelled(secret)
        if '"' not in value and draw(st.booleans()):
            value = f"{value[:5]}\\\n{value[5:]}"
        text += other + before + value + after
        shown += other + before + HIDDEN + after
        secrets.append(secret)
    return text, shown, secrets


@given(with_secrets())
def test_only_secrets_are_hidden(drawn: tuple[str, str, list[str]]) -> None:
    text, shown, secrets = drawn

    assert masked(text) == shown
    assert not any(secret in masked(text) for secret in secrets)
    assert holds_placeholders(shown) is bool(secrets)
    assert not holds_placeholders(text)


WITH_PASS = st.lists(TEXTS | st.sampled_from(["Pass", "pa\\ss", "Pass=", "Pa\\\nss=x", 'Pass="']), max_size=8).map(
    "".join
)


@given(WITH_PASS)
def test_slurm_reads_no_password_in_what_is_shown(text: str) -> None:
    for statement in statements(masked(text)):
        pairs = [(statement.key, statement.value), *((found.key, found.value) for found in statement.parameters)]
        assert all(value == HIDDEN for key, value in pairs if "pass" in key.lower())


@given(WITH_PASS)
def test_hidden_stays_hidden(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@given(TEXTS)
def test_a_text_without_passwords_is_shown_as_it_is(text: str) -> None:
    assert masked(text) == text


@given(SECRETS)
def test_the_symbol_looks_like_any_password(secret: str) -> None:
    line = "A=1\nStoragePass={}\nB=2\n"

    assert masked(line.format(STORAGE_PASSWORD)) == masked(line.format(spelled(secret)))


def test_a_long_text_takes_no_long_time() -> None:
    for text in ("pass" * 10**5, "pass=" * 10**5, 'pass="' * 10**5, "pass\\\n" * 10**5, "pass " * 10**5):
        masked(text)
