//! What a page says that is found out, and who else than `make liars` sees to it: a test of `make
//! test`, or a mistake of `make mistakes`.

/// A page's sentence, and who holds it.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// In the page's own words.
    pub sentence: &'static str,
    /// Who holds it.
    pub by: Holder,
}

/// Who holds a sentence.
#[derive(Debug, Clone, Copy)]
pub enum Holder {
    /// The test of this name.
    Test(&'static str),
    /// The mistake of this name.
    Mistake(&'static str),
}

const fn test(sentence: &'static str, name: &'static str) -> Held {
    Held { sentence, by: Holder::Test(name) }
}

const fn mistake(sentence: &'static str, name: &'static str) -> Held {
    Held { sentence, by: Holder::Mistake(name) }
}

/// The sentences of each page.
pub const HELD: &[(&str, &[Held])] = &[
    (
        "docs/checks/arithmetic.md",
        &[
            test(
                "Where one doesn't hold, something was lost, counted twice or timed wrongly.",
                "a_request_lost_or_counted_twice_makes_the_figures_invalid",
            ),
            test(
                "If that work takes a quarter of the time, the server has fewer requests at once than the load's name says.",
                "littles_law_tells_when_connections_wait_for_the_client",
            ),
            test(
                "Half a nanosecond is one or two instructions: no unit of any work takes less.",
                "a_program_that_counts_more_than_its_cpu_time_allows_is_found",
            ),
        ],
    ),
    (
        "docs/checks/client-limit.md",
        &[
            mistake("A client that is always busy measures itself.", "slow-client"),
            mistake(
                "A thread that computes for a quarter of the time, and waits for its processor for the rest, has nothing to spare either.",
                "maker-suite-client",
            ),
            mistake(
                "If the threads of a pool wait for one lock, each sleeps most of the time, and yet together they fill the processor that they take turns on.",
                "slow-store-client",
            ),
            test(
                "If a second client doesn't raise the rate, the server was the limit all the same",
                "a_second_client_tells_whose_the_limit_was",
            ),
            test(
                "So its times are doubted as those of any other client.",
                "busy_robots_cast_doubt_though_their_gateway_has_time_to_spare",
            ),
        ],
    ),
    (
        "docs/checks/contract.md",
        &[
            mistake("In 2009 one that didn't parse HTTP won.", "no-parsing"),
            test(
                "If it hangs so in two trials in a row, before the load or after it, it is given up for the run.",
                "who_hangs_in_the_contract_before_the_load_or_after_it_is_given_up",
            ),
            test(
                "A contender whose process fails in a trial has one finding of that trial, which is this one.",
                "a_contender_that_died_has_one_finding",
            ),
        ],
    ),
    (
        "docs/checks/cpu-quota.md",
        &[mistake(
            "When a quota is used up, all its threads stop until the period ends, for up to 0.1 s.",
            "cpu-quota",
        )],
    ),
    (
        "docs/checks/disk-writes.md",
        &[test(
            "A file system in memory, as `/tmp` often is, hands nothing to a disk.",
            "a_log_on_a_file_system_in_memory_casts_doubt_and_none_is_counted_twice",
        )],
    ),
    (
        "docs/checks/errors.md",
        &[mistake(
            "A client that runs out of ports fails before the server is asked.",
            "few-ports",
        )],
    ),
    (
        "docs/checks/delayed-ack.md",
        &[mistake("So only some deliveries take 40 ms, and the median may show nothing.", "nagle")],
    ),
    (
        "docs/checks/deliveries.md",
        &[
            mistake(
                "A server that leaves a member out has less to do than one that reaches all.",
                "senders-count",
            ),
            mistake("A member that is cut misses all that comes after.", "cut-readers"),
            test(
                "missing deliveries and members that were cut are suspect where the contender's documentation promises that a message comes once at most",
                "a_delivery_that_never_came_is_invalid_unless_it_was_promised_at_most_once",
            ),
            test(
                "A member that is cut misses all that comes after.",
                "a_member_that_is_cut_counts_though_nothing_is_missing_yet",
            ),
        ],
    ),
    (
        "docs/checks/slow-reader.md",
        &[
            test(
                "A contender that does something else than its file says is compared as what it isn't, so its figures are invalid.",
                "what_a_gateway_does_with_a_slow_reader_is_held_to_its_promise",
            ),
            test(
                "If others only waited, and for less than a second, that may have been a moment of the machine.",
                "a_short_wait_of_others_alone_is_doubtful",
            ),
            test(
                "If all came and memory didn't grow, it isn't known where the messages were.",
                "what_all_came_was_buffered_if_memory_grew_by_half_of_it",
            ),
        ],
    ),
    (
        "docs/checks/storm.md",
        &[
            test(
                "One that can't take all back in 5 s has a short listen queue, or does much for each that joins.",
                "who_does_not_let_all_robots_back_after_a_storm_is_found",
            ),
            test(
                "Then it doesn't do the job that it was timed at, so its figures are invalid.",
                "what_is_not_in_order_after_a_storm_makes_the_figures_invalid",
            ),
        ],
    ),
    (
        "docs/checks/evictions.md",
        &[mistake("Values that a store says it threw away", "evicted-keys")],
    ),
    (
        "docs/checks/fair-answers.md",
        &[
            test(
                "In an open loop it is invalid from one for a hundred connections on, and suspect below.",
                "connections_that_were_asked_and_left_waiting_are_found_in_both_loops",
            ),
            test(
                "Of deliveries to robots nothing is left to chance: all speak in turn, so that each is owed as many as the others.",
                "a_gateway_that_breaks_what_rooms_are_for_is_found_by_what_it_did",
            ),
        ],
    ),
    (
        "docs/checks/frequency.md",
        &[
            test(
                "A change of more than 10 % within one trial is heat, a power limit, or a governor that hasn't settled.",
                "a_drop_in_frequency_casts_doubt",
            ),
            test(
                "In both cases a fixed piece of work is timed instead.",
                "where_the_machine_doesnt_tell_work_is_timed",
            ),
        ],
    ),
    (
        "docs/checks/fresh-process.md",
        &[test(
            "A server that was running already has a past that nobody saw",
            "of_servers_that_run_already_it_is_said_what_cant_be_seen",
        )],
    ),
    (
        "docs/checks/hosts.md",
        &[
            test(
                "A load that was to come from three hosts and came from two is another load.",
                "a_host_that_is_lost_in_a_trial_makes_its_figures_invalid_by_name",
            ),
            test(
                "But rates are added, so that the hosts' windows have to be one: a window that lies elsewhere by a thousandth adds a thousandth of its answers wrongly at most.",
                "clocks_that_are_little_known_cast_doubt_and_then_leave_no_common_window",
            ),
            test(
                "A host that begins late leaves the others alone with the contender.",
                "a_host_that_begins_late_or_is_farther_away_is_named",
            ),
            test(
                "So a host with far fewer answers is held up by its own link or machine, and the sum is less than the contender can do.",
                "a_host_with_far_fewer_answers_than_another_is_named",
            ),
            test(
                "Where hosts aren't equally far, a percentile of all is one of several networks.",
                "a_host_that_begins_late_or_is_farther_away_is_named",
            ),
        ],
    ),
    (
        "docs/checks/hidden-tail.md",
        &[mistake(
            "The sender's own wait doesn't show it either, unless that member speaks.",
            "senders-round-trip",
        )],
    ),
    (
        "docs/checks/lateness.md",
        &[
            test(
                "A request that was sent late has waited in the client, and its response time has that wait.",
                "a_late_client_casts_doubt_on_response_times",
            ),
            test(
                "Of robots in rooms: how late they spoke.",
                "robots_that_speak_late_are_seen_by_a_few_messages",
            ),
        ],
    ),
    (
        "docs/checks/load-arrived.md",
        &[
            mistake("a limit of 1,024 connections makes 5,000 look easy.", "worker-connections"),
            mistake("In 2009 that was read as a server's latency.", "small-backlog"),
            mistake(
                "With fewer connections than asked for, the figure belongs to another load",
                "few-robots",
            ),
            test(
                "Each robot is asked into its room, so none may be missing.",
                "a_robot_that_is_in_no_room_makes_the_figures_invalid",
            ),
        ],
    ),
    (
        "docs/checks/memory.md",
        &[
            mistake(
                "The contender's own control group knows which kills were its own.",
                "memory-limit-store",
            ),
            test(
                "Memory that lies in swap answers a thousand times more slowly.",
                "swap_casts_doubt_and_a_swapped_contender_is_invalid",
            ),
            test(
                "A fault that waits for a disk stops its thread for 0.1 to 10 ms",
                "faults_that_wait_for_a_disk_cast_doubt",
            ),
            test(
                "Near its limit, a contender spends its time on giving memory back.",
                "a_contender_at_its_limit_casts_doubt",
            ),
        ],
    ),
    (
        "docs/checks/misses.md",
        &[
            mistake(
                "In 2009 a client's reads of keys that don't exist were counted as hits.",
                "missing-keys",
            ),
            mistake(
                "In 2026 the test suite of a store's maker had reads of which 90 % missed, and nobody saw it.",
                "maker-suite-misses",
            ),
        ],
    ),
    (
        "docs/checks/network.md",
        &[test(
            "Its limit is how fast processors copy memory, twice for each byte.",
            "a_load_that_is_mostly_copying_casts_doubt",
        )],
    ),
    (
        "docs/checks/offered-rate.md",
        &[
            test(
                "A generator that offers less than it says measures at another rate than the figure has.",
                "a_client_that_offers_another_rate_makes_the_figures_invalid",
            ),
            test(
                "Where all contenders are compared at one rate, a contender that answers less did less work.",
                "who_doesnt_hold_the_rate_of_all_is_invalid",
            ),
            test(
                "A gateway that doesn't read is handed nothing more, and that is shed.",
                "a_gateway_that_does_not_read_or_falls_behind_did_not_hold_the_rate",
            ),
        ],
    ),
    (
        "docs/checks/optimised-build.md",
        &[
            mistake(
                "These builds are for finding mistakes, and 2 to 50 times slower.",
                "debug-build",
            ),
            mistake(
                "Many compilers don't optimise unless they are told to.",
                "debug-build-messages",
            ),
            test(
                "So a script makes a figure *suspect* only.",
                "a_word_in_a_script_of_the_build_casts_doubt",
            ),
        ],
    ),
    (
        "docs/checks/order.md",
        &[mistake(
            "But a rate that depends on when it was measured is not the contender's alone.",
            "fixed-order",
        )],
    ),
    (
        "docs/checks/own-account.md",
        &[mistake(
            "It takes CPU time before `ready`, or shows no work in the warm-up, or counts at once what took longer.",
            "done-before",
        )],
    ),
    (
        "docs/checks/pressure.md",
        &[
            test(
                "From 1 % on, the slowest hundredth of the answers may be those that waited",
                "a_contender_that_waits_casts_doubt_and_for_long_is_invalid",
            ),
            test(
                "A client that waits takes its own time for the server's.",
                "a_client_that_waits_does_the_same_whatever_is_known_of_the_contender",
            ),
        ],
    ),
    (
        "docs/checks/quiet-machine.md",
        &[
            mistake(
                "A build in the background moves a figure more than most contenders differ",
                "noisy-neighbour",
            ),
            test(
                "What the host takes from a virtual machine shows as steal.",
                "a_host_that_takes_time_is_seen",
            ),
            test(
                "From a whole core on, that may decide between two contenders.",
                "a_build_on_the_other_cores_is_felt_in_memory_and_clock",
            ),
            test(
                "A CGI server that forks twice a request keeps the keeper busy.",
                "what_bakeoff_itself_uses_is_not_hidden",
            ),
        ],
    ),
    (
        "docs/checks/replication.md",
        &[
            mistake(
                "A difference up to the noise floor is a tie, whatever this check says.",
                "best-of-three",
            ),
            test(
                "Nobody is ranked without six blocks and an A/A pair.",
                "few_blocks_or_no_twin_are_not_checked",
            ),
            test(
                "Such a machine tells only large differences.",
                "identical_entries_far_apart_cast_doubt_on_all",
            ),
        ],
    ),
    (
        "docs/checks/runtime.md",
        &[
            mistake(
                "Code that is still being compiled is slower than it will be, and its compiler takes time from it.",
                "cold-jit",
            ),
            test(
                "A heap so small that a tenth of the time goes into collecting it is a setting, not the server.",
                "a_heap_that_is_collected_all_the_time_casts_doubt",
            ),
            test(
                "But if a tenth of its code comes within the window, it is still starting.",
                "modules_that_are_still_loaded_cast_doubt_where_that_is_when_they_are_compiled",
            ),
        ],
    ),
    (
        "docs/checks/same-answers.md",
        &[
            mistake(
                "An idle server may send each client another number, and a busy one the same number to all clients of a second.",
                "same-number",
            ),
            mistake(
                "A server that leaves out a part of the job once it is busy is faster for it",
                "short-bodies",
            ),
            test(
                "As soon as the load is over the whole contract is gone through again.",
                "a_step_that_fails_after_the_load_makes_the_figures_invalid",
            ),
        ],
    ),
    (
        "docs/checks/server-cores.md",
        &[
            mistake("in 2009 Go first ran on one of eight.", "one-core"),
            test(
                "A thread that binds itself elsewhere leaves them too",
                "a_contender_that_binds_itself_to_another_processor_is_found_out",
            ),
        ],
    ),
    (
        "docs/checks/shared-cores.md",
        &[mistake("On shared cores a cheaper client makes a faster server", "same-core")],
    ),
    (
        "docs/checks/steady.md",
        &[
            mistake("A rate that still rises is a warm-up.", "cold-jit-messages"),
            test(
                "A message to a room of thousands is thousands of deliveries at one moment, on one side of a half's edge or on the other.",
                "a_gateway_that_delivers_less_and_less_casts_doubt_and_a_message_more_in_a_half_does_not",
            ),
        ],
    ),
    (
        "docs/checks/survives.md",
        &[
            mistake(
                "What tells them apart is a rung that couldn't be checked, so the one may be ranked before the other for what it leaves out.",
                "class-without-a-rung",
            ),
            mistake(
                "On a file system in memory (tmpfs, ramfs, an overlay on one) a sync returns at once.",
                "data-in-memory",
            ),
        ],
    ),
    (
        "docs/durability.md",
        &[
            test(
                "| honest, but `libeatmydata` has its syncs do nothing | `machine` |",
                "a_store_whose_syncs_do_nothing_is_found_out_where_its_machine_stops",
            ),
            test(
                "| honest: a sync before each answer | nowhere: it loses none |",
                "a_store_that_syncs_every_write_loses_none_on_any_rung",
            ),
            test(
                "| SQLite, `journal_mode=WAL`, `synchronous=FULL` | nowhere |",
                "sqlite_loses_nothing_with_a_full_sync",
            ),
            test(
                "| Redis 7.0, `appendfsync always` | nowhere |",
                "redis_loses_nothing_that_it_always_synced",
            ),
            mistake("Stores are therefore ranked within a class", "durability"),
            test(
                "Keys, values and `$DIR` are of the form that they have in a trial, and the store's cores are drawn from the seed.",
                "a_store_is_cut_off_in_a_folder_and_under_a_load_as_it_is_timed",
            ),
            mistake("A promise of 0 is a promise of 0.", "forgotten-persistence"),
            mistake(
                "If it has a later write on the older disk, or any key of this cut on the empty one, the rung is *not checked: its data lie elsewhere*.",
                "data-elsewhere",
            ),
            test(
                "If it still refuses, the rung is *not checked*: what it has isn't known.",
                "a_store_that_refuses_is_waited_for_and_never_corrupt",
            ),
            test(
                "**Lost** is an acknowledged write whose key has no value afterwards, or that of an earlier write.",
                "what_was_acknowledged_has_to_be_there_or_what_was_written_over_it",
            ),
            test(
                "**Holes** are lost writes with a later write that is there",
                "a_later_write_that_is_there_makes_a_hole_though_it_was_in_flight",
            ),
            test(
                "Every byte of a value follows from its key, its write and the seed, so each byte is compared.",
                "a_value_with_another_byte_is_found",
            ),
            test(
                "**Doesn't start** is a store that gives no right answer on its own data in time",
                "a_store_that_cant_start_or_acknowledges_nothing_is_not_checked",
            ),
            test(
                "**Corrupt** is a key with what was never written to it: a write that was never sent, another key's value, other bytes, a part of a value.",
                "what_was_never_sent_is_corrupt_and_not_lost_besides",
            ),
            test(
                "A store **kept its word** if its losses lie within the seconds that its `contender.toml` says",
                "a_promise_is_kept_by_who_loses_no_more",
            ),
            test(
                "A cut that lost nothing needs 30 acknowledged writes to show anything.",
                "a_cut_of_a_handful_of_writes_shows_nothing_unless_it_lost_some",
            ),
            test(
                "A promise is **not tried** where no cut could have broken it.",
                "a_promise_of_more_than_was_written_is_not_tried_and_never_kept",
            ),
            test(
                "A class has two ends where a rung wasn't checked.",
                "a_class_has_two_ends_where_a_rung_between_them_isnt_known",
            ),
            test(
                "A sequence after which they differ is shortened to the few steps that show it.",
                "a_cache_is_what_two_pictures_of_a_disk_are",
            ),
        ],
    ),
    (
        "docs/contenders.md",
        &[
            test(
                "A contender is bound to its processors before it starts, and has to stay on them.",
                "a_contender_that_binds_itself_to_another_processor_is_found_out",
            ),
            test(
                "At the trial's end the folder is gone, and so is every process that the contender started, also one that forked away.",
                "a_contender_that_forks_away_is_found_and_ended",
            ),
            test(
                "If the store acknowledged a key and doesn't have it, that is an error.",
                "a_store_that_lost_what_it_acknowledged_is_found_out",
            ),
            test(
                "After the window the store is asked how many keys it has, and how many values it threw away.",
                "keys_that_nobody_wrote_speak_against_a_store",
            ),
            test(
                "A line that comes more than 0.5 s after the one before is [a finding](checks/own-account.md).",
                "work_that_was_done_at_another_time_than_it_is_counted_casts_doubt",
            ),
            test(
                "A program that tells another number has no figure.",
                "no_number_of_a_line_costs_others_their_figures",
            ),
            test(
                "So payloads in another order have another sum.",
                "payloads_in_another_order_are_found_where_order_counts",
            ),
            test(
                "So no round has what was done in the last one, and nothing can be kept from it.",
                "records_that_never_change_are_found",
            ),
            test(
                "A change there is one of the contender: a run that has measured it isn't resumed then",
                "a_change_in_a_shared_folder_changes_the_digest_and_a_build_there_does_not",
            ),
            test(
                "A contender is given up if it fails to start twice in a row",
                "a_server_that_was_given_up_is_measured_once_it_is_mended",
            ),
            test(
                "What is wrong in the file is refused before anything is built, with its line",
                "what_is_known_before_builds_is_refused_before_them",
            ),
            test(
                "Otherwise the path is refused with its line, because a change there would go unnoticed.",
                "a_path_into_a_folder_that_is_not_named_has_its_line",
            ),
            test(
                "A word in capitals that is almost one of these is refused with its line",
                "what_is_almost_a_placeholder_or_was_left_to_be_filled_in_has_its_line",
            ),
            test(
                "If the value turns up in what the contender writes or answers, it is replaced by `$DATABASE_URL` before that is kept.",
                "a_duel_of_a_post_with_secrets_leaves_them_in_no_file",
            ),
            test(
                "If it is missing, the build ends with exit code 69 (`EX_UNAVAILABLE` of sysexits.h), and the contender is *absent*.",
                "who_is_absent_is_told_from_whose_build_fails",
            ),
            test(
                "`bakeoff durability` holds the store to it.",
                "a_store_that_keeps_nothing_is_found_out_where_its_process_dies",
            ),
        ],
    ),
    (
        "docs/study-toml.md",
        &[
            test(
                "Not to find a lead is no proof that there is none.",
                "not_to_find_a_lead_is_no_proof_that_there_is_none",
            ),
            test(
                "What wasn't measured is told beside the claim.",
                "what_was_not_measured_decides_nothing",
            ),
        ],
    ),
    (
        "docs/duel.md",
        &[
            test(
                "What a duel can't see of such a server is *not checked*",
                "of_servers_that_run_already_it_is_said_what_cant_be_seen",
            ),
            test(
                "Where a file in it changes between them, such as a log or a database, [fresh-process](checks/fresh-process.md) says *not checked*.",
                "a_folder_that_trials_leave_something_in_is_told_of",
            ),
        ],
    ),
    (
        "docs/sampling.md",
        &[
            test(
                "It is the resident memory of all its processes, and what lies in files in memory that none of them maps",
                "files_in_memory_that_nobody_maps_are_memory_too",
            ),
            test(
                "Only a control group with the controller `memory` counts files in memory for the contender alone.",
                "memory_that_no_control_group_counts_may_be_more",
            ),
            test(
                "It is marked as a lower bound (≥) if the store has files on a disk open for writing that lie elsewhere or have no name any more.",
                "what_a_store_has_elsewhere_is_counted_or_makes_the_figure_a_bound",
            ),
        ],
    ),
];

/// Each with its page.
pub fn all() -> impl Iterator<Item = (&'static str, &'static Held)> {
    HELD.iter().flat_map(|(page, held)| held.iter().map(move |it| (*page, it)))
}
