//! The faults, and the scenarios that must find each.

macro_rules! faults {
    ($($fault:ident: $($caught_by:literal)+;)+) => {
        /// What is wrong with a source.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::examiner) enum Fault { Nothing, $($fault),+ }

        /// Each fault, with scenarios that must find it.
        pub(in crate::examiner) const FAULTS: &[(Fault, &[&str])] = &[$((Fault::$fault, &[$($caught_by),+])),+];
    };
}

faults! {
    ForgetsTimeTypes: "T1";
    TakesTakenNames: "T2";
    RenameBreaksHandles: "T3";
    DeleteOnlyHides: "T4";
    ClonesAreEmpty: "T5";
    IgnoresOffline: "T6" "N4";
    IdsAreNames: "T7";
    OfflineClonesAreOld: "T8";
    DropsNul: "W1";
    FirstWins: "W2";
    CutsLongMutations: "W3";
    SwallowsErrors: "W4" "T4" "T6";
    CutsLongValues: "W5";
    LosesSomeBatches: "W6";
    AppliesPartly: "W6";
    LosesUnsafeWrites: "W7";
    SecondsForMillis: "S1";
    LogicalStandsStill: "S2";
    ClampsTimestamps: "S3";
    TimeStandsStill: "S4";
    ForgetsDeletes: "D1" "D3" "M1";
    IgnoresLabelsOfDeletes: "D2";
    FlushRevivesDeleted: "D3";
    KeepsAllVersions: "V1";
    OneVersionLess: "V2";
    AlwaysOneVersion: "V3";
    FlushDropsVersions: "V4" "I4";
    IgnoresStartsInColumns: "V5";
    IgnoresLabels: "L1";
    StripsBrokenLabels: "L2";
    IgnoresDefaultLabel: "L3";
    IgnoresQualifiers: "C1";
    EndsAreInclusive: "R1" "R2" "R3";
    NoRangeMeansAll: "R4";
    RepeatsOverlaps: "R5";
    FirstThousandRanges: "R6";
    OneBatchOnly: "R7";
    RestartIgnoresRanges: "N1";
    NoSnapshot: "N2";
    IgnoresInterrupts: "N3";
    ScansGoOnAfterErrors: "N3" "N4";
    ScansOutliveTables: "N4";
    ResumesAtTheStart: "N5";
    TearsMutations: "A1";
    ConditionsAlwaysHold: "K1";
    ChecksThenWrites: "K2";
    IgnoresSplits: "P1";
    TakesLongSplits: "P2";
    MergesEverything: "P3";
    DeletesRowsByMarker: "P4";
    CompactionLoses: "M1";
    IgnoresCompactionIterators: "M2";
    CancelComplains: "M3";
    IgnoresScanIterators: "I1";
    IteratorsAreNotLive: "I2";
    TakesUnknownClasses: "I3";
    NeverRemovesProperties: "O1";
    TakesUnknownProperties: "O2";
    DurabilityIsStuck: "O3";
    OwnIsEffective: "O4";
    IgnoresVersions: "O5";
    EverythingIsOfTheTable: "O6";
    InheritsNothing: "O6";
    EverythingHasAnEffect: "O7";
    RefusesHalfAGroup: "O8";
    RefusesEqualPriorities: "I5";
    IgnoresScanOptions: "I6";
    KnowsEveryClass: "I7";
    IgnoresSamplers: "N6";
    CountsRefusedOnly: "Q4";
    ForgetsPrincipals: "X1";
    ForgetsDeadlines: "X2" "X3";
    DeadlinesBeginAnew: "X3";
    GivesPartsTwice: "N7";
    LosesParts: "N7";
    DividesRows: "N7";
    LocatesTheFirst: "P5";
    LayoutStandsStill: "P5";
    NamespaceIdsAreNames: "G1";
    TakesTheReservedName: "G2";
    DeletesFullNamespaces: "G3";
    RenamesNamespaceAlone: "G1";
    IgnoresConstraints: "Q1";
    RefusesSilently: "Q1" "Q2";
    TakesUnknownConstraints: "Q3";
    ImportShowsEarly: "B1";
    SortsImports: "B2";
    ImportsBeginAnew: "B2";
    CheckpointIsTheStore: "Z1";
    CheckSeesGhosts: "Z2";
}
