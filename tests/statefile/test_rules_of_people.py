"""Rules of users, groups and accounts: the key and the whole message."""

from pathlib import Path

import pytest

from tests.statefile.reading import CLUSTER, HEAD, read_text, said_of_cluster

PERSON = (
    "A name of a user or group is 1 to 32 of a-z, 0-9, underscores and hyphens, beginning with a letter or underscore."
)
ANOTHER_NAME = "Choose another name."
IDS = "Write a whole number from 1000 to 2147483647, but not 65534 or 65535."
ONCE = "Name it once."
DATABASE = "Declare a managed `db` node, or remove it."
ACCOUNT = "An account's name is 1 to 64 of a-z, 0-9, underscores and hyphens, beginning with no hyphen."
LIMITS = (
    "The limits are Comment, DefaultQOS, Description, Fairshare, Flags, GrpJobs, GrpJobsAccrue, "
    "GrpSubmitJobs, GrpTRES, GrpTRESMins, GrpTRESRunMins, GrpWall, MaxJobs, MaxJobsAccrue, MaxSubmitJobs, "
    "MaxTRES, MaxTRESMins, MaxTRESMinsPerJob, MaxTRESPerJob, MaxTRESPerNode, MaxTRESRunMins, MaxWall, "
    "MaxWallDurationPerJob, MinPrioThresh, Organization, Priority, QOS, QosLevel and Shares."
)
FLAGS = "Write UsersAreCoords or NoUsersAreCoords."
WHOLE = "Write a whole number from 0 to 4294967293, or -1 for no limit."
SHARES = 'Write a whole number from 0 to 2147483647, "parent", or -1 for one share.'
WALL = 'Write minutes, "M:S", "H:M:S", "D-H", "D-H:M" or "D-H:M:S", or -1 for no limit.'
LONG = "That is longer than 71582788 minutes, the most that Slurm keeps."
RESOURCES = 'Write name=count, with commas between several, such as "cpu=8,mem=64G", or -1 for no limit.'
NO_LIMIT = "Write -1 for no limit."
COUNT = "Write a whole number, or -1 for no limit."
SIZE = "Write a number, with K, M, G, T or P behind it, or -1 for no limit."
SIGN = ": sacctmgr would add to the list, or take from it, and here the whole list is said."
SIGNS = "Write each name without a sign, or -1 alone for no list."
ONE_QOS = "Write a name, or -1 for none."

# Limit, value, message, advice.
LIMITS_REFUSED = (
    ("Flags", "'Foo'", '"Foo" is not a flag of accounts.', FLAGS),
    ("Flags", "1", '"1" is not a flag of accounts.', FLAGS),
    (
        "Flags",
        "'UsersAreCoords,NoUsersAreCoords'",
        '"UsersAreCoords,NoUsersAreCoords" is not a flag of accounts.',
        FLAGS,
    ),
    ("QOS", "'+high'", f'"+high"{SIGN}', SIGNS),
    ("qoslevel", "'normal, -low'", f'"-low"{SIGN}', SIGNS),
    ("QOS", "','", '"," names no QOS.', "Write a name, or -1 for no list."),
    ("DefaultQOS", "'a,b'", '"a,b" is not the name of one QOS.', ONE_QOS),
    ("DefaultQOS", "'+a'", '"+a" is not the name of one QOS.', ONE_QOS),
    ("MaxWall", "'soon'", '"soon" is not a time of Slurm\'s.', WALL),
    ("MaxWall", "'1-'", '"1-" is not a time of Slurm\'s.', WALL),
    ("MaxWall", "'1:2:3:4'", '"1:2:3:4" is not a time of Slurm\'s.', WALL),
    ("GrpWall", "'90m'", '"90m" is not a time of Slurm\'s.', WALL),
    ("GrpWall", "-2", '"-2" is not a time of Slurm\'s.', WALL),
    ("MaxWall", "71582789", LONG, NO_LIMIT),
    ("MaxWallDurationPerJob", "'49710-06:28:01'", LONG, NO_LIMIT),
    ("GrpTRES", "5", '"5" is not a resource with a count.', RESOURCES),
    ("GrpTRES", "'cpu'", '"cpu" is not a resource with a count.', RESOURCES),
    ("GrpTRES", "'cpu=4,'", '"" is not a resource with a count.', RESOURCES),
    ("GrpTRES", "'cpu=4 mem=1G'", '"4 mem=1G" is not a count of "cpu".', COUNT),
    ("MaxTRES", "'cpu='", '"cpu=" is not a resource with a count.', RESOURCES),
    ("MaxTRES", "'99=1'", '"99=1" is not a resource with a count.', RESOURCES),
    ("MaxTRES", "'cpu=4,1=5'", '"cpu" is said twice.', "Keep one."),
    ("MaxTRESMins", "'cpu=x'", '"x" is not a count of "cpu".', COUNT),
    ("MaxTRESRunMins", "'cpu=-2'", '"-2" is not a count of "cpu".', COUNT),
    ("MaxTRESPerNode", "'cpu=1.5'", '"1.5" is not a count of "cpu".', COUNT),
    ("GrpTRES", "'gres/gpu=1k'", '"1k" is not a count of "gres/gpu".', COUNT),
    ("GrpTRES", "'mem=1x'", '"1x" is not a count of "mem".', SIZE),
    ("GrpTRES", "'mem=2b'", '"2b" is not a count of "mem".', SIZE),
    ("GrpTRES", "'2=1?'", '"1?" is not a count of "mem".', SIZE),
    (
        "GrpTRES",
        "'mem=1.5'",
        '"1.5" is not a whole number of megabytes, as Slurm counts "mem".',
        "Write it in megabytes.",
    ),
    (
        "GrpTRES",
        "'bb/x=1000k'",
        '"1000k" is not a whole number of megabytes, as Slurm counts "bb/x".',
        "Write it in megabytes.",
    ),
    ("GrpTRES", "'vmem=0.7'", '"0.7" is not a whole number of bytes, as Slurm counts "vmem".', "Write it in bytes."),
    ("GrpTRES", "'cpu=18446744073709551614'", '"18446744073709551614" is more than Slurm counts.', NO_LIMIT),
    ("MaxJobs", "'4k'", '"4k" is not a whole number.', WHOLE),
    ("GrpJobs", "'many'", '"many" is not a whole number.', WHOLE),
    ("Priority", "'1.0'", '"1.0" is not a whole number.', WHOLE),
    ("MinPrioThresh", "'-5'", "-5 is out of bounds.", WHOLE),
    ("MaxSubmitJobs", "'4294967294'", "4294967294 is out of bounds.", WHOLE),
    ("Fairshare", "'half'", '"half" is not a whole number.', SHARES),
    ("Shares", "2147483648", "2147483648 is out of bounds.", SHARES),
)


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        ("users.Alice = {}", "users.Alice", '"Alice" is not a name.', PERSON),
        ("users.1st = {}", "users.1st", '"1st" is not a name.', PERSON),
        ("users.'a.b' = {}", 'users."a.b"', '"a.b" is not a name.', PERSON),
        ('users."\\u00e9lise" = {}', 'users."\\u00e9lise"', '"\\u00e9lise" is not a name.', PERSON),
        (
            "users.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = {}",
            "users.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is not a name.',
            PERSON,
        ),
        ("groups.HPC = {}", "groups.HPC", '"HPC" is not a name.', PERSON),
        ("users.root = {}", "users.root", '"root" is a user of every node already.', ANOTHER_NAME),
        ("users.slurm = {}", "users.slurm", '"slurm" is a user of every node already.', ANOTHER_NAME),
        ("users.munge = {}", "users.munge", '"munge" is a user of every node already.', ANOTHER_NAME),
        (
            "users.systemd-network = {}",
            "users.systemd-network",
            '"systemd-network" is a user of every node already.',
            ANOTHER_NAME,
        ),
        (
            "users.video = {}",
            "users.video",
            '"video" is a group of every node already: the user can have no private group.',
            "Choose another name, or say `group`.",
        ),
        ("groups.users = {}", "groups.users", '"users" is a group of every node already.', ANOTHER_NAME),
        ("groups.mysql = {}", "groups.mysql", '"mysql" is a group of every node already.', ANOTHER_NAME),
        (
            "groups.systemd-journal = {}",
            "groups.systemd-journal",
            '"systemd-journal" is a group of every node already.',
            ANOTHER_NAME,
        ),
        (
            "users.alice = {}\ngroups.alice = {}",
            "groups.alice",
            'The user "alice" has a private group of this name.',
            "Rename the group, or say the user's `group`.",
        ),
        ("users.alice.uid = 0", "users.alice.uid", "0 is out of bounds.", IDS),
        ("users.alice.uid = 999", "users.alice.uid", "999 is out of bounds.", IDS),
        ("users.alice.uid = 65534", "users.alice.uid", "65534 is out of bounds.", IDS),
        ("users.alice.uid = 2147483648", "users.alice.uid", "2147483648 is out of bounds.", IDS),
        ("users.alice.uid = -1", "users.alice.uid", "-1 is out of bounds.", IDS),
        ("users.alice.uid = true", "users.alice.uid", "This must be a whole number, not true.", ""),
        ("users.alice.uid = '1000'", "users.alice.uid", 'This must be a whole number, not the string "1000".', ""),
        ("groups.hpc.gid = 999", "groups.hpc.gid", "999 is out of bounds.", IDS),
        ("groups.hpc.gid = 65535", "groups.hpc.gid", "65535 is out of bounds.", IDS),
        (
            "users = { bob.uid = 2000, carol.uid = 2000 }",
            "users.carol.uid",
            '2000 is the id of user "bob" already.',
            "No two users share an id.",
        ),
        (
            "users = { carol.uid = 2000, bob.uid = 2000 }",
            "users.carol.uid",
            '2000 is the id of user "bob" already.',
            "No two users share an id.",
        ),
        (
            "groups = { b.gid = 2000, a.gid = 2000 }",
            "groups.b.gid",
            '2000 is the id of group "a" already.',
            "No two groups share an id.",
        ),
        (
            "users.bob.uid = 2000\ngroups.hpc.gid = 2000",
            "groups.hpc.gid",
            '2000 is the id of the private group of user "bob" already.',
            "No two groups share an id.",
        ),
        ("users.bob.group = 'hpc'", "users.bob.group", 'There is no group "hpc".', "No group is declared."),
        (
            "users.bob.groups = ['hpc']\ngroups.admins = {}",
            "users.bob.groups",
            'There is no group "hpc".',
            'The groups are "admins".',
        ),
        (
            "users.bob.groups = ['hpc', 'hpc']\ngroups.hpc = {}",
            "users.bob.groups",
            'The group "hpc" is named 2 times.',
            ONCE,
        ),
        (
            "users.bob = { group = 'hpc', groups = ['hpc'] }\ngroups.hpc = {}",
            "users.bob.groups",
            '"hpc" is the primary group already.',
            "Name it in `group` alone.",
        ),
        ("accounts.a = {}", "accounts", "Accounts need a managed db node.", DATABASE),
        ("accounts.a = {}\ndb.managed = false", "accounts", "Accounts need a managed db node.", DATABASE),
        ("managed = false\naccounts.a = {}\ndb = {}", "accounts", "Accounts need a managed db node.", DATABASE),
        ("db = {}\naccounts.A = {}", "accounts.A", '"A" is not a name.', ACCOUNT),
        ("db = {}\naccounts.-a = {}", "accounts.-a", '"-a" is not a name.', ACCOUNT),
        (
            "db = {}\naccounts.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = {}",
            "accounts.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is not a name (65 characters).',
            ACCOUNT,
        ),
        ("db = {}\naccounts.root = {}", "accounts.root", '"root" is reserved: Slurm has it already.', ANOTHER_NAME),
        ("db = {}\naccounts.a.parent = 'b'", "accounts.a.parent", 'There is no account "b".', 'The accounts are "a".'),
        (
            "db = {}\naccounts.a.parent = 'a'",
            "accounts.a.parent",
            'The parents go round in a circle: "a -> a".',
            'One of them is below "root".',
        ),
        (
            "db = {}\naccounts = { c.parent = 'a', a.parent = 'b', b.parent = 'c', d.parent = 'a' }",
            "accounts.a.parent",
            'The parents go round in a circle: "a -> b -> c -> a".',
            'One of them is below "root".',
        ),
        (
            "users.bob.admin_level = 'admin'",
            "users.bob.admin_level",
            "`admin_level` needs a managed db node.",
            DATABASE,
        ),
        (
            "db = {}\nusers.bob.accounts = ['a']",
            "users.bob.accounts",
            'There is no account "a".',
            "No account is declared.",
        ),
        (
            "db = {}\naccounts.a = {}\nusers.bob.accounts = ['a', 'a']",
            "users.bob.accounts",
            'The account "a" is named 2 times.',
            ONCE,
        ),
        (
            "db = {}\naccounts.a = {}\nusers.bob = { accounts = ['a'], coordinator = ['b'] }",
            "users.bob.coordinator",
            'There is no account "b".',
            'The accounts are "a".',
        ),
        (
            "db = {}\naccounts.a = {}\nusers.bob = { accounts = ['a'], coordinator = ['a', 'a'] }",
            "users.bob.coordinator",
            'The account "a" is named 2 times.',
            ONCE,
        ),
        (
            "db = {}\naccounts.a = {}\nusers.bob.coordinator = ['a']",
            "users.bob.coordinator",
            "Without an account the user is not in Slurm's database, where `coordinator` is kept.",
            "Name one in `accounts`.",
        ),
        (
            "db = {}\nusers.bob.admin_level = 'operator'",
            "users.bob.admin_level",
            "Without an account the user is not in Slurm's database, where `admin_level` is kept.",
            "Name one in `accounts`.",
        ),
        (
            "db = {}\nusers.bob.admin_level = 'root'",
            "users.bob.admin_level",
            'This must be "operator" or "admin", not the string "root".',
            "",
        ),
        (
            "db = {}\naccounts.a.limits.MaxJob = 1",
            "accounts.a.limits.MaxJob",
            "sacctmgr has no such limit of an account.",
            "Did you mean `MaxJobs`?",
        ),
        (
            "db = {}\naccounts.a.limits.zzz = 1",
            "accounts.a.limits.zzz",
            "sacctmgr has no such limit of an account.",
            LIMITS,
        ),
        (
            "db = {}\naccounts.a.limits = { MaxJobs = 1, maxjobs = 2 }",
            "accounts.a.limits.maxjobs",
            "This is said already, as `MaxJobs`.",
            "Keep one: sacctmgr takes any case.",
        ),
        (
            "db = {}\naccounts.a.limits.MaxJobs = -2",
            "accounts.a.limits.MaxJobs",
            "-2 is out of bounds.",
            "Write a whole number from 0 to 4294967293, or -1 for no limit.",
        ),
        (
            "db = {}\naccounts.a.limits.MaxJobs = 4294967294",
            "accounts.a.limits.MaxJobs",
            "4294967294 is out of bounds.",
            "Write a whole number from 0 to 4294967293, or -1 for no limit.",
        ),
        (
            "db = {}\naccounts.a.limits.MaxJobs = true",
            "accounts.a.limits.MaxJobs",
            "This must be a string or a whole number, not true.",
            "",
        ),
        (
            "db = {}\naccounts.a.limits.MaxWall = ''",
            "accounts.a.limits.MaxWall",
            "A limit without a value says nothing.",
            "Write -1 for no limit, or remove it.",
        ),
        (
            "db = {}\naccounts.a.limits.MaxWall = ' '",
            "accounts.a.limits.MaxWall",
            "A limit without a value says nothing.",
            "Write -1 for no limit, or remove it.",
        ),
        (
            'db = {}\naccounts.a.limits.Comment = "a\\nb"',
            "accounts.a.limits.Comment",
            '"a\\u000ab" holds what sacctmgr does not carry.',
            "Write it without quotes and control characters.",
        ),
        (
            "db = {}\naccounts.a.limits.Comment = 'say \"x\"'",
            "accounts.a.limits.Comment",
            '"say \\"x\\"" holds what sacctmgr does not carry.',
            "Write it without quotes and control characters.",
        ),
        *(
            (f"db = {{}}\naccounts.a.limits.{limit} = {value}", f"accounts.a.limits.{limit}", what, fix)
            for limit, value, what, fix in LIMITS_REFUSED
        ),
        *(
            (
                f"db = {{}}\naccounts.a.limits = {{ {one} = '{value}', {other} = '{value}' }}",
                f"accounts.a.limits.{other}",
                f"This is said already, as `{one}`.",
                "Keep one: sacctmgr has two names for this limit.",
            )
            for one, other, value in (
                ("Shares", "fairshare", "7"),
                ("QosLevel", "QOS", "normal"),
                ("MaxTRESPerJob", "MaxTRES", "cpu=1"),
                ("maxwall", "MaxWallDurationPerJob", "60"),
                ("MaxTRESMins", "MaxTRESMinsPerJob", "cpu=1"),
            )
        ),
    ],
)
def test_people(tmp_path: Path, lines: str, key: str, what: str, fix: str) -> None:
    assert said_of_cluster(tmp_path, lines) == [(key, what, fix)]


ALLOWED = (
    # A number may be a user's and a group's, when the user has no private group.
    (
        "groups = { hpc.gid = 2000, admins.gid = 1001 }\n"
        "users = { alice = {}, bob = { uid = 2000, group = 'hpc' }, carol = { uid = 1001, group = 'hpc', groups = ['admins'] } }"
    ),
    "users = { svc-build_1.uid = 60001, _x.uid = 2147483647 }",
    f"users.{'a' * 32} = {{}}",
    "users.staff.group = 'hpc'\ngroups.hpc = {}",
    "users.alice.group = 'alice'\ngroups.alice = {}",
    "managed = false\nusers.alice = {}",
    "db = {}\naccounts = { b.parent = 'a', a = {}, 0x.parent = 'b' }",
    "db = {}\naccounts.a.limits = { maxjobs = -1, GRPTRES = 'cpu=4,mem=1G', FairShare = 'parent', Description = 'a b' }",
    (
        "db = {}\naccounts.a.limits = { Flags = 'nousersarecoords', Shares = 'PARENT', QOS = 'a, b', DefaultQOS = 5, GrpJobs = '+05',"
        " GrpTRES = '1=7 , mem=1.5g,bb/x=2GiB,gres/gpu:a100=2,vmem=1.5k,fs/disk=+1T,node=-1', MaxTRES = ' -1 ', Comment = -7,"
        " MaxWall = '71582788', GrpWall = 'Unlimited', MaxJobs = '-1', Priority = 4294967293 }"
    ),
    "db = {}\naccounts.a.limits = { Flags = 'UsersAreCoords', QOS = -1, Fairshare = 2147483647, MaxWall = '49710-6:27:60' }",
    (
        "db = {}\naccounts.a = {}\n"
        "users.bob = { accounts = ['a'], coordinator = ['a'], admin_level = 'operator' }\nusers.eve = {}"
    ),
)


@pytest.mark.parametrize("lines", ALLOWED)
def test_what_is_allowed(tmp_path: Path, lines: str) -> None:
    read_text(tmp_path, f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}')


def test_nothing_is_concluded_from_what_does_not_fit(tmp_path: Path) -> None:
    lines = """
db = 5
accounts.a = 5
accounts.b.parent = "a"
groups.hpc = 5
users.bob = { group = "hpc", accounts = ["a"] }
groups.eve = {}
users.eve.group = 5
"""
    assert [what for _, what, _ in said_of_cluster(tmp_path, lines)] == [
        "This must be a table, not the integer 5.",
        "This must be a table, not the integer 5.",
        "This must be a table, not the integer 5.",
        "This must be a string, not the integer 5.",
    ]
