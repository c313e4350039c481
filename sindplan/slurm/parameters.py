"""What a change of a parameter of Slurm costs: one table, each rule with its source.

Since Slurm 23.11 `scontrol reconfigure` puts new processes in the place of slurmctld and of every slurmd, so that nearly every
parameter is read anew; listening ports and authentication are not (scontrol(1)). Daemons that it does not reach read
everything at their start only. Names: every key that the parser of Slurm 24.11 or 26.05 takes, tried one by one.
"""

from collections.abc import Mapping

from attrs import frozen

CONTROLLER, WORKER, DATABASE, REST, CREDENTIALS = "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sackd"
ORDER = (DATABASE, CONTROLLER, WORKER, CREDENTIALS, REST)
"""Daemons in the order in which they are restarted; of two controllers the first before its backup."""

MAN, PROVED = "scontrol(1), reconfigure", "proved on 24.11 and 26.05"
_READ_ONCE = "slurmrestd(8): its configuration is read at its start"


@frozen
class Rule:
    """A parameter that some daemon reads only at its start.

    Attributes:
        daemons: Those that must be restarted.
        source: Where the rule is from.
    """

    daemons: tuple[str, ...]
    source: str


_CORE = (CONTROLLER, WORKER)
_ALL = (CONTROLLER, WORKER, CREDENTIALS, REST)
RESTARTS: Mapping[str, Rule] = {
    "SlurmctldPort": Rule(_ALL, f"{MAN}; {PROVED}: scontrol cannot connect"),
    "SlurmdPort": Rule(_CORE, f"{MAN}; {PROVED}: nodes do not answer until slurmd is restarted"),
    "AuthType": Rule(_ALL, MAN),
    "AuthInfo": Rule(_ALL, MAN),
    "CredType": Rule(_ALL, MAN),
    "CryptoType": Rule(_ALL, MAN),
    "HashPlugin": Rule(_ALL, f"{PROVED}: scontrol is not understood"),
    "TLSType": Rule(_ALL, f"{MAN}: all daemons must agree to talk"),
    "TLSParameters": Rule(_ALL, f"{MAN}: all daemons must agree to talk"),
    "CommunicationParameters": Rule(_ALL, "slurm.conf(5): it says where daemons listen"),
    **dict.fromkeys(
        (
            "AccountingStorageBackupHost",
            "AccountingStorageHost",
            "AccountingStoragePort",
            "AccountingStorageType",
            "AuthAltParameters",
            "AuthAltTypes",
            "DataParserParameters",
            "MessageTimeout",
            "SelectType",
            "SlurmctldAddr",
            "SlurmctldHost",
        ),
        Rule((REST,), _READ_ONCE),
    ),
}
"""Parameters of slurm.conf that `scontrol reconfigure` does not bring about everywhere."""

UNKNOWN = Rule(_CORE, "not in this table: the safe path, which ends no job")

RECORDS = frozenset({"nodename", "partitionname", "nodeset", "downnodes", "frontendname", "include"})
"""Keys that stand for many lines of their own: nodes, partitions. `scontrol reconfigure` reads them."""

NEEDS_NEW_CPUS = (
    "CPUs",
    "Procs",
    "Boards",
    "Sockets",
    "SocketsPerBoard",
    "CoresPerSocket",
    "ThreadsPerCore",
)
"""Attributes of a node whose change makes slurmctld requeue the jobs that run there."""

SINCE: Mapping[str, tuple[int, int]] = dict.fromkeys(
    (
        "CertgenParameters",
        "CertgenType",
        "CliFilterParameters",
        "HealthCheckTimeout",
        "HttpParserType",
        "JobCompPassScript",
        "LicenseParameters",
        "MetricsAuthUsers",
        "MetricsParameters",
        "MetricsType",
        "NamespaceType",
        "PowerAction",
        "PrologTimeout",
        "SlurmctldHttpAuthParameters",
        "SlurmdHttpAuthParameters",
        "UrlParserType",
    ),
    (26, 5),
)
"""Parameters that 24.11 refuses and 26.05 knows."""

_KNOWN = """
    AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
    AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES
    AccountingStorageType AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment
    AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType
    AcctGatherNodeFreq AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters AuthAltTypes AuthInfo
    AuthType BackupAddr BackupController BatchStartTimeout BcastExclude BcastParameters BurstBufferParameters
    BurstBufferType CertmgrParameters CertmgrType CliFilterPlugins ClusterName CommunicationParameters CompleteWait
    ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType CryptoType
    DataParserParameters DebugFlags DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode
    DependencyParameters DisableRootJobs EioTimeout EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld
    ExtSensorsFreq ExtSensorsType FairShareDampeningFactor FastSchedule FederationParameters FirstJobId
    GetEnvTimeout GpuFreqDef GresTypes GroupUpdateForce GroupUpdateTime HashPlugin HealthCheckInterval
    HealthCheckNodeState HealthCheckProgram InactiveLimit InteractiveStepOptions JobAcctGatherFrequency
    JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPort
    JobCompType JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate
    JobFileAppend JobRequeue JobSubmitPlugins KeepAliveTime KillOnBadExit KillWait LaunchParameters LaunchType
    Licenses LogTimeFormat MCSParameters MCSPlugin MailDomain MailProg MaxArraySize MaxBatchRequeue MaxDBDMsgs
    MaxJobCount MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode MessageTimeout MinJobAge
    MpiDefault MpiParams NodeFeaturesPlugins OverTimeLimit PlugStackConfig PluginDir PowerParameters PowerPlugin
    PrEpParameters PrEpPlugins PreemptExemptTime PreemptMode PreemptParameters PreemptType PriorityCalcPeriod
    PriorityDecayHalfLife PriorityFavorSmall PriorityFlags PriorityMaxAge PriorityParameters
    PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType PriorityUsageResetPeriod
    PriorityWeightAge PriorityWeightAssoc PriorityWeightFairShare PriorityWeightJobSize
    PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData ProctrackType Prolog
    PrologEpilogTimeout PrologFlags PrologSlurmctld PropagatePrioProcess PropagateResourceLimits
    PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram
    ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvOverRun ResvProlog ReturnToService RoutePlugin
    SallocDefaultCommand SbcastParameters SchedulerParameters SchedulerTimeSlice SchedulerType ScronParameters
    SelectType SelectTypeParameters SlurmSchedLogFile SlurmSchedLogLevel SlurmUser SlurmctldAddr SlurmctldDebug
    SlurmctldHost SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPort SlurmctldPrimaryOffProg
    SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdLogFile SlurmdParameters
    SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser SrunEpilog SrunPortRange
    SrunProlog StateSaveLocation SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendRate
    SuspendTime SuspendTimeout SwitchParameters SwitchType TCPTimeout TLSParameters TLSType TaskEpilog
    TaskPlugin TaskPluginParam TaskProlog TmpFS TopologyParam TopologyPlugin TrackWCKey TreeWidth
    UnkillableStepProgram UnkillableStepTimeout UsePAM VSizeFactor WaitTime X11Parameters
"""
KNOWN: Mapping[str, str] = {name.lower(): name for name in (*_KNOWN.split(), *SINCE, "AccountingStorageLoc")}
"""Every parameter of slurm.conf by its name in lower case, which is how Slurm compares them."""

_RULES = {name.lower(): rule for name, rule in RESTARTS.items()}


def rule_of(key: str) -> Rule | None:
    """Return the rule of a parameter of slurm.conf; None for one of which `scontrol reconfigure` is all that it needs."""
    lower = key.lower()
    if lower in RECORDS:
        return None
    return _RULES.get(lower) or (None if lower in KNOWN else UNKNOWN)
