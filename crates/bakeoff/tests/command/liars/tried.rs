//! Who lies how, and what finds it out: in the words of a page, in lists of those that are measured
//! together.

use super::{By, Liar};

const CONTRACT: &str = "docs/checks/contract.md";
const ERRORS: &str = "docs/checks/errors.md";
const DELIVERIES: &str = "docs/checks/deliveries.md";
const LOAD_ARRIVED: &str = "docs/checks/load-arrived.md";
const DELAYED_ACK: &str = "docs/checks/delayed-ack.md";
const HIDDEN_TAIL: &str = "docs/checks/hidden-tail.md";
const SAME_ANSWERS: &str = "docs/checks/same-answers.md";
const OWN_ACCOUNT: &str = "docs/checks/own-account.md";
const DISK_WRITES: &str = "docs/checks/disk-writes.md";
const EVICTIONS: &str = "docs/checks/evictions.md";
const ONE_CEILING: &str = "docs/checks/one-ceiling.md";
const DURABILITY: &str = "docs/durability.md";
const DUEL: &str = "docs/duel.md";

const fn liar(page: &'static str, sentence: &'static str, mode: &'static str, by: By) -> Liar {
    Liar { page, sentence, mode, by }
}

const fn by(check: &'static str) -> By {
    By::Check(check)
}

const MUST_REFUSE: &str = "Four more requests are nearly right, and RFC 9112 says that a server must refuse them: one without Host (3.2), one with two lengths that differ and one with a length that is no number (6.3), and one with a space between a header's name and the colon (5.1).";
const IN_ORDER_TO_END: &str = "If a connection ends after an answer, it has to end in order: a reset may take the answer with it.";

/// Of a study of servers that are asked before the load, and after it.
pub const OF_CONTRACT: [Liar; 10] = [
    liar(CONTRACT, MUST_REFUSE, "no-host", by("contract")),
    liar(CONTRACT, MUST_REFUSE, "two-lengths", by("contract")),
    liar(CONTRACT, MUST_REFUSE, "no-number", by("contract")),
    liar(CONTRACT, MUST_REFUSE, "space-in-name", by("contract")),
    liar(CONTRACT, "for what it has to refuse;", "takes-anything", by("contract")),
    liar(
        CONTRACT,
        "byte by byte; in two pieces with a pause between them",
        "by-pieces",
        by("contract"),
    ),
    liar(CONTRACT, "as a pipelined pair;", "one-a-piece", by("contract")),
    liar(CONTRACT, "for the Date;", "no-date", by("contract")),
    liar(CONTRACT, "as HEAD;", "says-head", by("contract")),
    liar(CONTRACT, IN_ORDER_TO_END, "resets", by("contract")),
];

const OTHERS_ANSWER: &str =
    "A body without the request's own nonce is the answer of somebody else, or none.";
const WRONG_AT_ANY_TIME: &str = "That is wrong at any time.";
const ERRORS_COST_LESS: &str =
    "An error costs less than an answer, so a rate with errors in it compares nothing.";
const ONE_LONG_WAIT: &str = "A connection that was answered once and then left waiting gives one long wait and no more, which no rate and no percentile shows";
const OPENED_AGAIN: &str = "A server may end a kept connection. No request is lost, since the client opens the connection again. But opening it is work that other contenders don't have.";
const NEVER_ACCEPTED: &str = "The kernel establishes connections also for a server that never accepts them, so all looks well to the client.";
const NO_PERCENTILE: &str = "So a stall of a second is one slow answer a connection among thousands of quick ones, and no percentile shows it";
const MALFORMED: &str = "Requests that ended in an error, by kind: refused, reset, closed early, timed out, malformed, wrong status, wrong body";
const BESIDE_A_TEXT: &str = "Where it only has to hold a text, other bytes of the same length beside that text aren't found.";
const TWO_PARTS: &str = "A server that writes an answer in two parts, without `TCP_NODELAY`, waits for that acknowledgement with the second part.";
const IDLE_CORES: &str =
    "a server that leaves cores idle is limited by its configuration or by something else.";
const A_LOG: &str =
    "An access log that one server has on and the others have off is work that isn't compared.";
const SENDS_LESS: &str = "A server that sends less has less to make and to copy.";
const ONE_RATE: &str =
    "If three have one rate and different costs, the rate is that of something that they share.";

/// Of servers that are under load for a second.
pub const OF_LOAD: [Liar; 18] = [
    liar(ERRORS, OTHERS_ANSWER, "other-id", by("errors")),
    liar(ERRORS, OTHERS_ANSWER, "says-sorry", by("errors")),
    liar(ERRORS, OTHERS_ANSWER, "caches-by-id", by("errors")),
    liar(ERRORS, MALFORMED, "answers-ahead", by("errors")),
    liar(ERRORS, ERRORS_COST_LESS, "turns-away", by("errors")),
    liar(ERRORS, ERRORS_COST_LESS, "breaks-off", by("errors")),
    liar(
        SAME_ANSWERS,
        "If other answers leave something out, their length shows it.",
        "no-server",
        by("same-answers"),
    ),
    liar(SAME_ANSWERS, BESIDE_A_TEXT, "wrong-middle", By::Nothing),
    liar("docs/checks/fair-answers.md", ONE_LONG_WAIT, "hangs", by("fair-answers")),
    liar("docs/checks/keep-alive.md", OPENED_AGAIN, "cuts", by("keep-alive")),
    liar("docs/checks/keep-alive.md", OPENED_AGAIN, "cuts-unsaid", by("keep-alive")),
    liar("docs/checks/keep-alive.md", OPENED_AGAIN, "resets-kept", by("keep-alive")),
    liar(LOAD_ARRIVED, NEVER_ACCEPTED, "accepts-two", by("load-arrived")),
    liar(DELAYED_ACK, TWO_PARTS, "two-writes", by("delayed-ack")),
    liar("docs/checks/server-cores.md", IDLE_CORES, "sleeps", by("server-cores")),
    liar(DISK_WRITES, A_LOG, "logs", by("disk-writes")),
    liar(
        DISK_WRITES,
        "What the contender writes to its standard output or error.",
        "prints",
        by("disk-writes"),
    ),
    liar("docs/checks/answers-alike.md", SENDS_LESS, "short", by("answers-alike")),
];

const LEFT_OUT: &str =
    "A server that leaves a member out has less to do than one that reaches all.";
const OTHER_WORK: &str = "So has one that checks no room, and one that sends a message again does other work than is compared.";
const IS_CUT: &str = "A member that is cut misses all that comes after.";
const NONE_MADE_UP: &str = "Each message says whose it is, and every byte of it follows from that and the run's seed, so that none can be made up.";

/// Of gateways, which do their job as long as they aren't under load.
pub const OF_ROOMS: [Liar; 10] = [
    liar(DELIVERIES, LEFT_OUT, "drops-some", by("deliveries")),
    liar(DELIVERIES, LEFT_OUT, "leaves-one-out", by("deliveries")),
    liar(DELIVERIES, OTHER_WORK, "says-twice", by("deliveries")),
    liar(DELIVERIES, OTHER_WORK, "leaks", by("deliveries")),
    liar(DELIVERIES, NONE_MADE_UP, "flips-a-bit", by("deliveries")),
    liar(DELIVERIES, NONE_MADE_UP, "old-connection", by("deliveries")),
    liar(
        DELIVERIES,
        "Messages of one sender that overtake each other tell of a server that has several queues for one member, which its users would have to put in order.",
        "swaps",
        by("deliveries"),
    ),
    liar(DELIVERIES, IS_CUT, "cuts", by("deliveries")),
    liar(DELIVERIES, IS_CUT, "breaks-off", by("deliveries")),
    liar(
        LOAD_ARRIVED,
        "A connection alone is none: the kernel makes it for a gateway that lets nobody else in.",
        "lets-few-in",
        by("load-arrived"),
    ),
];

/// Of gateways with hundreds in a room.
pub const OF_LARGE_ROOMS: [Liar; 1] = [liar(
    HIDDEN_TAIL,
    "But each message waits for that member, since it has reached its room when the last one has it.",
    "late-to-one",
    by("hidden-tail"),
)];

/// Of gateways with two in a room, for some seconds.
pub const OF_PAIRS: [Liar; 2] = [
    liar(
        DELAYED_ACK,
        "A gateway that writes the length of a message and the message apart, without `TCP_NODELAY`, keeps the message back until its length is acknowledged.",
        "waits-for-acks",
        by("delayed-ack"),
    ),
    liar(
        "docs/checks/offered-rate.md",
        "One that falls behind by a little has a queue that grows, and all times are those of the queue.",
        "falls-behind",
        by("offered-rate"),
    ),
];

/// Of servers whose bodies are held to a text as a whole.
pub const OF_WHOLE_BODIES: [Liar; 1] = [liar(
    SAME_ANSWERS,
    "The body must hold the text of its request, or be that text where the contract says `whole_body`.",
    "wrong-middle",
    by("errors"),
)];

/// Of servers that are under load for some seconds.
pub const OF_SECONDS: [Liar; 8] = [
    liar(ERRORS, WRONG_AT_ANY_TIME, "once-wrong", by("errors")),
    liar(
        SAME_ANSWERS,
        "After a load of 2.2 s or more the Date has to be another one.",
        "old-date",
        by("same-answers"),
    ),
    liar(
        "docs/checks/stall.md",
        "A second at half the rate is a stall, and the mean hides it.",
        "one-second",
        by("stall"),
    ),
    liar(
        "docs/checks/steady.md",
        "One that falls has met a limit (memory, ports, a full queue).",
        "slows",
        by("steady"),
    ),
    liar(HIDDEN_TAIL, NO_PERCENTILE, "stands-still", by("hidden-tail")),
    liar(ONE_CEILING, ONE_RATE, "ceiling-0", by("one-ceiling")),
    liar(ONE_CEILING, ONE_RATE, "ceiling-1", by("one-ceiling")),
    liar(ONE_CEILING, ONE_RATE, "ceiling-3", by("one-ceiling")),
];

/// Of a duel with one that is honest. They are named as the modes of the server.
pub const OF_DUELS: [Liar; 4] = [
    liar(DUEL, "Every answer under load is held to it.", "hello", by("errors")),
    liar(
        DUEL,
        "Where bodies differ in length, the check [answers-alike](checks/answers-alike.md) doubts the figures.",
        "short",
        by("answers-alike"),
    ),
    liar(
        DUEL,
        "Where bodies differ from one answer to the next, as those with a counter or a time do, that is told",
        "counts",
        By::Told("with another body each time"),
    ),
    liar(
        "docs/checks/fresh-process.md",
        "A file that one trial leaves behind, such as a cache or a database, is the next one's past.",
        "leaves-a-file",
        By::NotChecked("fresh-process"),
    ),
];

const STUDY_TOML: &str = "docs/study-toml.md";

/// Of a study that makes claims which aren't so.
pub const OF_CLAIMS: [Liar; 3] = [
    liar(
        STUDY_TOML,
        "The lead has to be larger than chance and the noise floor.",
        "honest ahead of honest-again",
        By::NotHeld,
    ),
    liar(
        STUDY_TOML,
        "It *doesn't hold* if one of them is shown to be ahead, or if the lead is shown to be \
         missing.",
        "sleeps ahead of honest",
        By::NotHeld,
    ),
    liar(
        STUDY_TOML,
        "If the figures that decide are *suspect* or *not checked in full*, this stands beside the word",
        "prints ahead of sleeps",
        By::NotHeld,
    ),
];

const ITS_CLOCK: &str = "A clock that stands still makes any rate.";
const ITS_SUM: &str =
    "Work that was left out, counted twice or counted before it was done gives another sum.";
const OTHER_WAY: &str =
    "A program that leaves out the work and makes the right sum in another way isn't found.";
const REFUSED: &str = "A line with a number that no program can tell is refused when it is read";
const NO_FIGURE: &str = "A trial has no figure if a line can't be read, an account goes backwards, the program ends or closes its output before its result, or it prints more after that.";
const AHEAD: &str = "A program that does its work ahead, and counts it in the window, has a rate of its own choosing, and its sums are right.";
const LATE: &str =
    "Lines come every 200 ms; where none comes for longer, nobody knows when the work was done.";

const DONE_BEFORE: &str = "From a fifth on, it may have done as much of its work before, and nobody can tell whether it has.";
const KEPT_BACK: &str = "A program that keeps units back, and counts them evenly.";

/// Of a study that has its contenders sum payloads.
pub const OF_PAYLOADS: [Liar; 20] = [
    liar(CONTRACT, ITS_SUM, "counts-twice", by("contract")),
    liar(CONTRACT, OTHER_WAY, "sums-alone", By::Nothing),
    liar(CONTRACT, ITS_CLOCK, "stopped-clock", by("contract")),
    liar(CONTRACT, ITS_CLOCK, "fast-clock", by("contract")),
    liar(CONTRACT, ITS_CLOCK, "slow-clock", by("contract")),
    liar(CONTRACT, NO_FIGURE, "garbage", By::NoFigure),
    liar(CONTRACT, NO_FIGURE, "no-result", By::NoFigure),
    liar(CONTRACT, NO_FIGURE, "tells-at-the-end", By::NoFigure),
    liar(CONTRACT, NO_FIGURE, "result-twice", By::NoFigure),
    liar(CONTRACT, NO_FIGURE, "close-early", By::NoFigure),
    liar(CONTRACT, REFUSED, "boasts", By::NoFigure),
    liar(CONTRACT, REFUSED, "extreme-t-1e308", By::NoFigure),
    liar(CONTRACT, REFUSED, "extreme-result--5", By::NoFigure),
    liar(CONTRACT, REFUSED, "extreme-done-1152921504606846976", By::NoFigure),
    liar(OWN_ACCOUNT, AHEAD, "works-ahead", by("own-account")),
    liar(OWN_ACCOUNT, AHEAD, "saves-up", by("own-account")),
    liar(OWN_ACCOUNT, AHEAD, "ready-late", by("own-account")),
    liar(OWN_ACCOUNT, DONE_BEFORE, "some-ahead", By::NotChecked("own-account")),
    liar(OWN_ACCOUNT, KEPT_BACK, "smooth-saver", By::Nothing),
    liar(OWN_ACCOUNT, LATE, "pauses", by("own-account")),
];

/// Of one in which their order counts.
pub const OF_ORDER: [Liar; 2] = [
    liar(
        CONTRACT,
        "Whoever reads them had each payload in its turn, with none lost and none twice.",
        "not-in-order",
        by("contract"),
    ),
    // What a right sum doesn't show.
    liar(CONTRACT, "that another task sent them", "skips-mailbox", By::Nothing),
];

const OF_RECORDS: &str = "no record was kept from an earlier round.";

/// Of one with records.
pub const OF_RECORDS_KEPT: [Liar; 2] = [
    liar(CONTRACT, OF_RECORDS, "one-record", by("contract")),
    liar(CONTRACT, OF_RECORDS, "records-never-change", by("contract")),
];

const WRONG_VALUE: &str = "So is a value of a store's key that is another than was written, that was overwritten before it was asked for, or that is gone though the store doesn't throw values away.";

/// Of a study of stores that are read and written.
pub const OF_READS: [Liar; 8] = [
    liar(ERRORS, WRONG_VALUE, "write-behind", by("errors")),
    liar(ERRORS, WRONG_VALUE, "stale-cold", by("errors")),
    liar(ERRORS, WRONG_VALUE, "zero-fills", by("errors")),
    liar(ERRORS, WRONG_VALUE, "loses-some", by("errors")),
    liar(ERRORS, WRONG_AT_ANY_TIME, "early-wrong", by("errors")),
    liar(
        EVICTIONS,
        "A store with more keys still has an older set.",
        "tells-more",
        by("evictions"),
    ),
    liar(
        EVICTIONS,
        "A store that throws values away does less work than one that keeps them",
        "throws-away",
        by("evictions"),
    ),
    liar(
        EVICTIONS,
        "A store that answers, and tells no count, can't be held to one.",
        "tells-no-count",
        by("evictions"),
    ),
];

/// Of one whose reads are of several keys at once.
pub const OF_SEVERAL: [Liar; 2] = [
    liar(ERRORS, WRONG_VALUE, "mget-swap", by("errors")),
    liar(ERRORS, WRONG_AT_ANY_TIME, "once-wrong", by("errors")),
];

/// Of one whose work writes and removes, and reads nothing.
pub const OF_REMOVALS: [Liar; 1] = [liar(
    SAME_ANSWERS,
    "A key that was removed last has to be gone.",
    "del-keeps",
    by("same-answers"),
)];

const READ_BACK: &str = "A key has to have the value of its last write.";

/// Of one whose work only writes.
pub const OF_WRITES: [Liar; 6] = [
    liar(SAME_ANSWERS, READ_BACK, "drops-some", by("same-answers")),
    liar(SAME_ANSWERS, READ_BACK, "drops-all", by("same-answers")),
    liar(SAME_ANSWERS, READ_BACK, "forgets-old", by("same-answers")),
    liar(
        SAME_ANSWERS,
        "A store that puts writes off has an older one.",
        "write-behind",
        by("same-answers"),
    ),
    liar(
        SAME_ANSWERS,
        "A store that refuses to give such a key, or doesn't answer in 5 s, is as wrong as one that lost it.",
        "refuses-later",
        by("same-answers"),
    ),
    liar(
        EVICTIONS,
        "A store with fewer keys than it acknowledged has lost some.",
        "keeps-few",
        by("evictions"),
    ),
];

/// Of one whose stores may throw values away.
pub const OF_MISSES: [Liar; 1] = [liar(
    "docs/checks/misses.md",
    "A store that says that there is no value does less than one that gives a value.",
    "loses-some",
    by("misses"),
)];

/// Of one whose stores are cut off before they are timed, on more connections than they are cut off
/// with.
pub const OF_FLUSHES: [Liar; 1] = [liar(
    "docs/checks/flushes.md",
    "A store with fewer flushes didn't wait for them while it was timed, though it did when it was cut off.",
    "syncs-for-few",
    by("flushes"),
)];

const SURVIVES: &str = "docs/checks/survives.md";
const ENDS_WITH_A_CRASH: &str =
    "A trial that writes ends with a crash, if the store was seen to survive its own.";

/// Of one whose stores are cut off before they are timed, for longer than a cut takes.
pub const OF_CRASHES: [Liar; 3] = [
    liar(SURVIVES, ENDS_WITH_A_CRASH, "keeps-when-cut", by("survives")),
    liar(SURVIVES, ENDS_WITH_A_CRASH, "keeps-at-first", by("survives")),
    liar(
        SURVIVES,
        "A store that also sees that it is being cut off is found by the crash, which comes under load too",
        "keeps-once-idle",
        by("survives"),
    ),
];

/// Of stores that are cut off.
pub const OF_CUTS: [Liar; 9] = [
    liar(DURABILITY, "| keeps all in memory | `process` |", "null", By::Rung("process")),
    liar(
        DURABILITY,
        "| acknowledges writes, and puts them to its file a little later | `process` |",
        "acknowledges-early",
        By::Rung("process"),
    ),
    liar(
        DURABILITY,
        "| honest, but its files lie in `/dev/shm` | `machine` |",
        "in-memory",
        By::Rung("machine"),
    ),
    liar(
        DURABILITY,
        "| honest, but its files lie beside its program | `machine`, as *its data lie elsewhere* |",
        "in-source",
        By::Elsewhere,
    ),
    liar(
        DURABILITY,
        "| the same, unsynced, in a folder whose name it reads from `$DIR` | `machine`, as *its data lie elsewhere* |",
        "by-marker",
        By::Elsewhere,
    ),
    liar(DURABILITY, "| syncs every tenth time | `machine` |", "every-tenth", By::Rung("machine")),
    liar(
        DURABILITY,
        "| syncs a file, renames it, and doesn't sync the folder | `machine` |",
        "forgets-folder",
        By::Rung("machine"),
    ),
    liar(
        DURABILITY,
        "| has no checksum, and is cut off within a record | `machine`, as corrupt |",
        "no-checksum",
        By::Rung("machine"),
    ),
    liar(
        DURABILITY,
        "| writes past the page cache (`O_DIRECT`), and never has the disk flushed | `power` |",
        "no-flush",
        By::Rung("power"),
    ),
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Liar> {
    let servers = OF_CONTRACT.iter().chain(&OF_LOAD).chain(&OF_WHOLE_BODIES).chain(&OF_SECONDS);
    let servers = servers.chain(&OF_CLAIMS).chain(&OF_DUELS);
    let programs = OF_PAYLOADS.iter().chain(&OF_ORDER).chain(&OF_RECORDS_KEPT);
    let stores = OF_READS.iter().chain(&OF_SEVERAL).chain(&OF_REMOVALS).chain(&OF_WRITES);
    let stores = stores.chain(&OF_MISSES).chain(&OF_CRASHES).chain(&OF_FLUSHES);
    let gateways = OF_ROOMS.iter().chain(&OF_LARGE_ROOMS).chain(&OF_PAIRS);
    servers.chain(programs).chain(stores).chain(&OF_CUTS).chain(gateways)
}
