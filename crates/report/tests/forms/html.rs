//! What the page says, and what it must not do.

use std::io::Read;

use base64::prelude::*;
use report::html;
use result::figure::{P99_US, RATE};
use result::finding::{Finding, Verdict};
use result::plan::{Contender, Pace, TextFile};
use result::{LeftOut, Run};
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;

use crate::fixture;

fn page(run: &Run) -> Html {
    Html::parse_document(&html(run))
}

fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

/// What a reader sees of the first element that fits, one line a part.
fn text(page: &Html, selector: &str) -> String {
    let element = all(page, selector).into_iter().next().expect(selector);
    let parts = element.text().map(str::trim).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_first_sentence_is_the_finding_with_its_interval() {
    insta::assert_snapshot!(text(&page(&fixture::web()), "h1"), @"nginx, by configuration alone (suspect) is first of those ranked under all 4 loads; Go net/http comes closest, with ≤64 % (62–65) of that.");
}

/// Of some figures a check says the opposite of what it says of others.
#[test]
fn a_closed_finding_shows_each_sentence_of_its_check() {
    let mut run = fixture::quick();
    for (row, says) in run.outcomes[0].rows.iter_mut().zip(["It rose.", "It fell."]) {
        row.findings.push(Finding {
            check: "steady".into(),
            verdict: Verdict::Invalid,
            value: "20 %".into(),
            threshold: "10 %".into(),
            says: says.into(),
            fix: String::new(),
            off_by_max: None,
        });
    }
    let page = page(&run);
    let shown =
        all(&page, ".finding > summary").into_iter().map(|it| it.text().collect::<String>());
    let steady: Vec<String> = shown.filter(|it| it.contains("steady")).collect();
    assert!(steady.len() == 1 && steady[0].ends_with("It rose. It fell."), "{steady:?}");
}

#[test]
fn a_run_without_a_finding_says_why_at_once() {
    insta::assert_snapshot!(text(&page(&fixture::quick()), "h1"), @"Nobody is ranked: a rank needs 6 blocks, and this run has fewer.");
}

#[test]
fn every_rate_is_in_the_first_table() {
    insta::assert_snapshot!(text(&page(&fixture::web()), "table"));
}

/// What nobody could look at must not pass for what somebody did.
#[test]
fn the_four_verdicts_look_different_in_the_first_table_and_are_explained() {
    let seen = |verdict: Verdict| {
        let mut run = fixture::web();
        fixture::row_of(&mut run, 0, "erlang").verdict = verdict;
        let page = page(&run);
        let cell = all(&page, "table tr[data-contender='erlang'] td")[0];
        let is_struck = cell.select(&Selector::parse("s").unwrap()).next().is_some();
        (cell.text().collect::<String>(), is_struck)
    };
    assert_eq!(seen(Verdict::Valid), ("20.5k".to_string(), false));
    assert_eq!(seen(Verdict::NotChecked), ("20.5k ○".to_string(), false));
    assert_eq!(seen(Verdict::Suspect), ("20.5k ?".to_string(), false));
    assert_eq!(seen(Verdict::Invalid), ("20.5k ✗".to_string(), true));

    let mut run = fixture::web();
    let legend = text(&page(&run), "main > p.quiet").replace('\n', " ");
    let says = "○ not checked · ? suspect · ✗ invalid · no sign: valid. What that means";
    assert_eq!(legend, says);
    let rows = run.outcomes.iter_mut().flat_map(|outcome| &mut outcome.rows);
    rows.for_each(|row| row.verdict = Verdict::Valid);
    assert!(all(&page(&run), "main > p.quiet").is_empty(), "it explains signs that aren't there");
}

/// Who looks at one table or chart only must not miss it.
#[test]
fn every_row_of_figures_says_their_verdict() {
    let sign = Selector::parse("[title]").unwrap();
    for (run, rows) in [(fixture::published(), 30), (fixture::overloaded(), 12)] {
        let page = page(&run);
        let with_figures = all(&page, "tr[data-verdicts], figure:not(.lead) > .row[data-verdicts]");
        let mut looked_at = 0;
        for row in with_figures {
            let verdict = row.attr("data-verdicts").unwrap();
            // Nothing was measured, or each figure has its own.
            if verdict.is_empty() || verdict.contains(',') {
                continue;
            }
            let says = row.select(&sign).next().and_then(|it| it.attr("title"));
            assert_eq!(says, Some(verdict), "{}", row.html());
            looked_at += 1;
        }
        assert!(looked_at >= rows, "only {looked_at} rows have figures of one verdict");
    }
}

#[test]
fn a_load_shows_its_figures_with_their_verdicts() {
    insta::assert_snapshot!(text(&page(&fixture::web()), "#one-connections-5000-kept-true"));
}

/// What lists of facts say, one line a part.
fn facts(page: &Html, selector: &str) -> Vec<String> {
    let lists = all(page, selector).into_iter();
    lists.map(|list| list.text().map(str::trim).collect::<Vec<_>>().join("\n")).collect()
}

/// Every text in a record, however deep.
fn texts(record: &Value) -> Vec<&str> {
    match record {
        Value::String(text) => vec![text.as_str()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn sampling_that_took_more_than_it_may_is_said_to() {
    let page = |sampling_cpu_s| {
        let mut run = fixture::web();
        run.trials[0].evidence.sampling.sampling_cpu_s = Some(sampling_cpu_s);
        html(&run)
    };
    let says = "which is more than the 1 % that it may";
    assert!(page(0.051).contains(says), "1.02 % of 5 s");
    assert!(!page(0.05).contains(says));
}

#[test]
fn the_disclosure_has_all_that_repeats_the_run() {
    let run = fixture::web();
    let page = page(&run);
    insta::assert_snapshot!(facts(&page, "dl").join("\n"));
    assert!(text(&page, "main > pre").contains("bakeoff run web --full --seed 7"));

    let facts = facts(&page, "h4 + dl");
    assert_eq!(facts.len(), run.contenders.len());
    for (contender, facts) in run.contenders.iter().zip(facts) {
        // Its title stands above them, and why it is absent at the head of the page.
        let record = Contender { title: String::new(), absent: None, ..contender.clone() };
        for text in texts(&serde_json::to_value(&record).unwrap()) {
            assert!(facts.contains(text), "the record has {text:?}, the page hasn't: {facts}");
        }
    }
}

#[test]
fn a_build_that_there_is_none_of_is_told_from_one_that_is_not_known() {
    let mut run = fixture::web();
    run.contenders[0].build = Some(Vec::new());
    run.contenders[1].build = None;
    let facts = facts(&page(&run), "h4 + dl");
    assert!(facts[0].contains("build\nnothing to build\ncommand\n"), "{}", facts[0]);
    assert!(facts[1].contains("build\nunknown: the run was made before"), "{}", facts[1]);
    assert!(facts[2].contains("build\ncc -O2 "), "{}", facts[2]);
}

#[test]
fn a_remark_stands_among_the_facts_of_its_contender_only() {
    let mut run = fixture::web();
    run.contenders[1].remark = Some("It keeps 16 connections, not 8.".into());
    let facts = facts(&page(&run), "h4 + dl");
    assert!(facts[1].ends_with("\nremark\nIt keeps 16 connections, not 8."), "{}", facts[1]);
    assert!(!facts[0].contains("remark"), "{}", facts[0]);
}

/// Else nobody can tell one argument with a blank from two, nor paste it.
#[test]
fn commands_are_shown_as_a_shell_reads_them() {
    let mut run = fixture::web();
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    run.contenders[0].build = Some(words(&["sh", "-c", "cc *.c -o \"$0\"", "$BUILD/server"]));
    run.contenders[0].run = words(&["$BUILD/server", "-cp", "$BUILD/lib/*", "", "$HOST:$PORT"]);
    let facts = facts(&page(&run), "h4 + dl").remove(0);
    assert!(facts.contains("build\nsh -c 'cc *.c -o \"$0\"' $BUILD/server\n"), "{facts}");
    assert!(
        facts.contains("command\n$BUILD/server -cp $BUILD'/lib/*' '' $HOST:$PORT\n"),
        "{facts}"
    );
}

/// A line break within quotes is one; written out it would be a letter to a shell.
#[test]
fn a_command_of_several_lines_is_shown_with_its_lines() {
    let mut run = fixture::web();
    let script = "cc -O2 -c a.c\n  cc -o \"$0\"  a.o\n";
    run.contenders[0].build = Some(["sh", "-c", script].map(String::from).to_vec());
    let page = page(&run);
    let shown: String = all(&page, "h4 + dl dd > code")[1].text().collect();
    assert_eq!(shown, format!("sh -c '{script}'"));
}

#[test]
fn a_script_of_a_build_can_be_opened_beside_its_command_and_is_shown_as_it_is() {
    let mut run = fixture::web();
    let script = "#!/bin/sh\n\tcc -O2 -DNAME=\"<b>&amp;\" \\\n    hello.c\n";
    let file = &mut run.contenders[1].build_files[0];
    file.text = script.into();
    let shown = shown_files(&page(&run));
    assert_eq!(shown, [script]);

    let file = &mut run.contenders[1].build_files[0];
    (file.text, file.cut) = ("cc -O2\n".repeat(2_000), true);
    let page = page(&run);
    assert_eq!(shown_files(&page), ["cc -O2\n".repeat(2_000)], "it is shown to its end");
    let opened = text(&page, "dd details");
    assert!(opened.ends_with("This is its beginning: the run keeps no more of it."), "{opened}");
}

/// Settings that make a server fast or slow stand there.
#[test]
fn a_configuration_can_be_opened_and_is_shown_as_it_is() {
    let mut run = fixture::web();
    let text = "events { worker_connections 16384; }\nroot \"</pre><b>&amp;\";\n";
    let file = TextFile { name: "nginx.conf".into(), text: text.into(), cut: false };
    run.contenders[0].configuration = vec![file.clone()];
    run.contenders[2].configuration = vec![file];
    let page = page(&run);
    let said = text_of_configuration(&page);
    assert_eq!(said[0], format!("nginx.conf{text}"));
    let above = "nginx.confIts text is the same as that of nginx, by configuration alone, above.";
    assert_eq!(said[1..], [above]);
}

/// What opens where a contender's configuration stands.
fn text_of_configuration(page: &Html) -> Vec<String> {
    let facts = all(page, "h4 + dl > div");
    let facts = facts.iter().filter(|it| it.text().next() == Some("configuration"));
    let details = Selector::parse("details").unwrap();
    facts.flat_map(|it| it.select(&details)).map(|it| it.text().collect()).collect()
}

/// Those that the page has room for, as they are shown.
fn shown_files(page: &Html) -> Vec<String> {
    all(page, "dd details > pre").iter().map(|it| it.text().collect()).collect()
}

#[test]
fn an_older_run_that_keeps_no_texts_is_shown_without() {
    let mut older = serde_json::to_value(fixture::web()).unwrap();
    for contender in older["contenders"].as_array_mut().unwrap() {
        let contender = contender.as_object_mut().unwrap();
        for key in ["sources", "build_files", "configuration"] {
            assert!(contender.remove(key).is_some(), "there is no {key}");
        }
    }
    let page = page(&serde_json::from_value(older).unwrap());
    assert!(all(&page, "dd details").is_empty());
    assert!(!text(&page, "main").contains("folders beside it"));
}

#[test]
fn texts_of_builds_that_the_page_has_no_room_for_are_said_to_be_elsewhere() {
    let mut run = fixture::web();
    let texts = [8_000, 6_000, 4_000, 2_000].map(|length| "&".repeat(length));
    for (contender, text) in run.contenders.iter_mut().zip(texts.clone()) {
        contender.build_files = vec![TextFile { name: "build.sh".into(), text, cut: false }];
    }
    let page = page(&run);
    // An ampersand takes five bytes in a page, so that 64 KiB hold all but one; the longest
    // is the most likely to be no script.
    assert!(shown_files(&page) == texts[1..], "not those that most scripts are among");
    let says = "its text is in run.json beside it only";
    let opened = all(&page, "dd details");
    let elsewhere = opened.iter().filter(|it| it.text().any(|text| text.contains(says)));
    assert_eq!(elsewhere.count(), 1);
}

#[test]
fn a_text_that_several_builds_share_is_shown_once() {
    let mut run = fixture::web();
    let shared = run.contenders[1].build_files[0].clone();
    run.contenders[2].build_files = vec![TextFile { name: "../own/build.sh".into(), ..shared }];
    let page = page(&run);
    assert_eq!(shown_files(&page).len(), 1);
    let opened: String = all(&page, "dd details")[1].text().collect();
    let says = "../own/build.shIts text is the same as that of Go net/http, above.";
    assert_eq!(opened, says);
}

#[test]
fn a_large_page_has_the_texts_of_builds_that_it_has_room_for_and_names_the_others() {
    let run = fixture::largest();
    let page = page(&run);
    let files = |it: &Contender| it.build_files.len() + it.configuration.len();
    let files: usize = run.contenders.iter().map(files).sum();
    let opened = all(&page, "dd details");
    assert_eq!(opened.len(), files, "of each the reader is told where it is");
    assert!(!shown_files(&page).is_empty(), "there is room for some");
}

#[test]
fn a_processor_without_a_name_is_not_an_empty_word() {
    let mut run = fixture::web();
    run.machine.cpu.clear();
    let page = page(&run);
    let told = text(&page, "header > .quiet");
    assert!(told.starts_with("unknown processor"), "{told}");
    assert!(facts(&page, "h3 + dl")[0].starts_with("processor\nunknown processor\n"));
    assert!(report::markdown(&run).contains("\nunknown processor, 2 CPUs used"));
}

/// Two runs of one version may differ in it.
#[test]
fn a_build_that_is_not_known_is_told() {
    let mut run = fixture::web();
    run.bakeoff_sha256 = None;
    let facts = text(&page(&run), "main > pre + dl");
    let says = "0.1.0, run web-2026-11-21T08-30-00Z\nwhich build of it isn't known\n";
    assert!(facts.contains(says), "{facts}");
}

#[test]
fn a_lighter_contract_is_named_wherever_its_contender_is() {
    let page = page(&fixture::lighter());
    let rate = "[id$='-equal-80'] table";
    let [chart, points] = ["figure:has(svg.curve)", "[aria-label='Points of the curve']"];
    let loads = ["#one-connections-5000-kept-true", "#all-connections-1000-kept-true"];
    for part in ["h1", "table", loads[0], loads[1], rate, chart, points] {
        let text = text(&page, part);
        assert!(text.contains("nginx, static file (lighter contract: static)"), "{part}: {text}");
        let named = text.matches("nginx, static file").count();
        assert_eq!(text.matches("nginx, static file (lighter").count(), named, "{part}: {text}");
    }
    let alternative = all(&page, "svg.curve")[0].attr("aria-label").unwrap();
    assert!(alternative.starts_with("nginx, static file (lighter contract: static), p99"));
    let says = "nginx, static file keeps the lighter contract";
    assert!(text(&page, "header").contains(says), "the reader isn't told what it leaves out");
    let facts = text(&page, "h4 + dl");
    assert!(facts.contains("contract\nthe lighter one, static"), "{facts}");
}

#[test]
fn an_invalid_figure_is_struck_out_and_says_what_to_do() {
    let page = page(&fixture::web());
    let struck: Vec<String> = all(&page, "#one-connections-5000-kept-true s")
        .iter()
        .map(|it| it.text().collect())
        .collect();
    assert!(struck[0].contains("33.9k"), "the rate isn't struck out: {struck:?}");
    let opened = text(&page, "#one-connections-5000-kept-true details:has(.invalid) .checks");
    for part in ["load-arrived", "4,096 of 5,000", "Threshold:", "Fix:", "5,424 errors"] {
        assert!(opened.contains(part), "the badge doesn't open `{part}`: {opened}");
    }
}

#[test]
fn connections_that_the_server_closed_are_told_and_no_error() {
    let mut run = fixture::web();
    assert!(!html(&run).contains("closed connections"), "told of servers that keep them");
    // After the last answer of the window comes one more.
    for (cut, often) in [(100, "one in 1,000 answers."), (100_030, "after most answers.")] {
        for trial in run.trials.iter_mut().filter(|trial| trial.slot.contender == "go") {
            let client = &mut trial.evidence.clients[0];
            (client.good, client.cut) = (100_000, Some(cut));
        }
        let page = page(&run);
        for row in all(&page, "#one-connections-30-kept-true details") {
            let opened: String = row.text().collect();
            let told = opened.contains("closed connections that were to be kept")
                && opened.contains(often);
            assert_eq!(told, opened.contains("Go net/http"), "{opened}");
        }
    }
}

/// Of a window of 4.2 s the fifth second is a fifth of one.
#[test]
fn a_second_that_the_window_cuts_is_no_drop_of_the_rate() {
    let mut run = fixture::web();
    for load in run.trials.iter_mut().filter_map(|trial| trial.evidence.work.as_mut()) {
        load.seconds = 4.2;
        load.per_second[4].good = 7;
    }
    let range = text(&page(&run), "#one-connections-30-kept-true .row:has(.strip) .value");
    assert!(!range.starts_with("0.0"), "{range}");
}

#[test]
fn a_strip_has_every_second_of_every_block_and_marks_those_with_errors() {
    let mut run = fixture::web();
    let is_go = |it: &&mut result::Trial| {
        it.slot.setting.connections() == 30 && it.slot.contender == "go" && !it.slot.twin
    };
    for trial in run.trials.iter_mut().filter(is_go) {
        let load = trial.evidence.work.as_mut().unwrap();
        match trial.slot.block {
            0 => (load.per_second[1].good, load.per_second[1].errors) = (0, 3),
            2 => load.per_second[4].errors = 1,
            // The window cuts the last second, which is no drop, but its errors were.
            5 => (load.seconds, load.per_second[4].errors) = (4.2, 1),
            _ => {}
        }
    }
    let page = page(&run);
    let drawn = |contender: &str, path: &str| -> Vec<&str> {
        let row = format!(
            "#one-connections-30-kept-true .row[data-contender='{contender}'] .strip {path}"
        );
        all(&page, &row).iter().map(|it| it.attr("d").unwrap()).collect()
    };
    let blocks_and_seconds = |contender| {
        let paths = drawn(contender, ".rates");
        assert_eq!(paths.len(), 1, "{paths:?}");
        (paths[0].matches('M').count(), paths[0].matches('H').count())
    };
    assert_eq!(blocks_and_seconds("erlang"), (6, 30));
    assert_eq!(blocks_and_seconds("go"), (6, 29), "the second that is cut has no rate");
    assert!(drawn("go", ".rates")[0].contains("H1V28.0H2V"), "no drop in the second one");
    assert_eq!(drawn("go", ".errors"), ["M1,29h1M15,29h1M31.5,29h1"]);
    assert!(drawn("erlang", ".errors").is_empty(), "it had none");
}

#[test]
fn a_lower_bound_is_hatched_and_marked() {
    let page = page(&fixture::web());
    assert_eq!(all(&page, "#one-connections-30-kept-true rect.hatched").len(), 1);
    assert!(text(&page, "#one-connections-30-kept-true .value").contains("≥57.8k"));
}

#[test]
fn many_comparisons_are_told_with_what_chance_makes_of_them() {
    let told = text(&page(&fixture::web()), "header");
    let says = "The ranks rest on 7 comparisons of two contenders, each tested at the 5 % level. If \
                all contenders were equal, chance alone would still find a difference in up to 0.4 \
                of these tests.";
    assert!(told.contains(says), "{told}");
    let unranked = text(&page(&fixture::quick()), "header");
    assert!(!unranked.contains("The ranks rest on"), "nobody is ranked: {unranked}");

    let mut run = fixture::open_loops();
    let outcome = fixture::equal_of(&mut run);
    outcome.rows.push(outcome.rows[1].clone());
    fixture::rank_in_order(outcome);
    let told = text(&page(&run), "header");
    let says = "The ranks by CPU time a request rest on 2 comparisons of two";
    assert!(told.contains(says), "by rate, nobody is ranked: {told}");
}

#[test]
fn a_rate_for_all_that_was_planned_and_could_not_be_had_is_told_with_the_reason() {
    let mut run = fixture::quick();
    let setting = run.outcomes[0].setting.with(Pace::Equal { percent: 80 });
    let reason = "no contender has a maximum that is not invalid".into();
    run.left_out = vec![LeftOut { contender: "go".into(), setting, reason }];
    let says = "Nobody was measured at one rate for all: no contender has a maximum";
    assert!(text(&page(&run), "header").contains(says));
    run.outcomes = fixture::open_loops().outcomes;
    assert!(!text(&page(&run), "header").contains(says), "others were measured");
}

#[test]
fn what_limited_each_is_told_in_a_line() {
    let mut run = fixture::web();
    insta::assert_snapshot!(text(&page(&run), "#one-connections-5000-kept-true .limits"), @r"
    What limited each
    nginx, by configuration alone:
    its cores
    . Its core was full: 0.97 of 1 in use, 61 % of that in the kernel.
    Go net/http:
    not known
    . The figures are invalid, by
    load-arrived
    .
    Erlang/OTP gen_tcp:
    its cores
    . Its core was full: 0.97 of 1 in use, 61 % of that in the kernel.
    ");
    run.outcomes.iter_mut().flat_map(|it| &mut it.rows).for_each(|row| row.limit = None);
    assert!(all(&page(&run), ".limits").is_empty(), "nothing is told, so nothing is asked");
}

/// A run of one setting has all in its own chart, which leads the page.
#[test]
fn of_one_setting_the_first_screen_has_a_rate_once() {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    let html = html(&run);
    assert!(all(&page(&run), "td[data-rate]").is_empty(), "a table beside the chart");
    let place = |says: &str| html.rfind(says).unwrap_or_else(|| panic!("no {says}"));
    assert!(
        place("summary class=\"row\"") > place("What limited each"),
        "a chart beside the chart"
    );
    assert!(!all(&page(&fixture::web()), "td[data-rate]").is_empty());
}

#[test]
fn what_was_made_again_is_shown_and_not_counted() {
    let run = fixture::disturbed();
    let page = page(&run);
    insta::assert_snapshot!(text(&page, "table:has(s)"), @r"
    Block 1, 1,000 connections kept alive, one core: others used up to 0.60 cores and the host took up to 0.1 % of the time
    Contender
    requests/s, not counted
    cores used by others
    time taken by the host
    requests/s, made again
    nginx, by configuration alone
    38.4k
    0.020
    0.1 %
    54.9k
    ○
    Go net/http
    24.4k
    0.60
    0.1 %
    34.9k
    ○
    ");
    assert!(text(&page, "header").contains("1 comparison was made again"));
    let mut stopped = run;
    let aside = stopped.disturbed[0].slot.clone();
    stopped.trials.retain(|trial| trial.slot != aside);
    let page = self::page(&stopped);
    assert!(text(&page, "header").contains("1 comparison is yet to be made again"));
    let caption = text(&page, "table:has(s) caption");
    assert!(caption.contains("kept alive, one core (not yet): others"), "{caption}");
    let without = html(&fixture::quick());
    assert!(!without.contains("Made again"), "a quiet run has no such part");
}

#[test]
fn published_figures_stand_beside_those_of_today_under_the_same_load() {
    let page = page(&fixture::published());
    let tables: Vec<String> = all(&page, "#then-and-now ~ div .scroll")
        .iter()
        .take(3)
        .map(|it| it.text().collect::<Vec<_>>().join(" "))
        .collect();
    insta::assert_snapshot!(tables.join("\n\n"));
    let main = text(&page, "main");
    assert!(main.contains("What was wrong then:\nApacheBench was the bottleneck."), "{main}");
    let without = html(&fixture::web());
    assert!(
        !without.contains("Then and now"),
        "a study without published figures has no such part"
    );
}

#[test]
fn the_last_words_of_a_server_that_failed_are_shown() {
    let mut run = fixture::without("go");
    for trial in run.trials.iter_mut().filter(|trial| trial.slot.contender == "go") {
        trial.evidence.process.failure = Some("It ended with status 1.".into());
        trial.evidence.process.last_words = vec!["bind: address already in use".into()];
    }
    let section = text(&page(&run), "#one-connections-30-kept-true");
    assert!(section.contains("It ended with status 1."), "{section}");
    assert!(section.contains("bind: address already in use"), "{section}");
}

#[test]
fn every_block_has_its_dot() {
    let run = fixture::web();
    let page = page(&run);
    for details in all(&page, "figure details") {
        let dots = details.select(&Selector::parse(".dots").unwrap()).next().unwrap();
        let dots = dots.attr("d").unwrap().matches('M').count();
        assert_eq!(dots, run.plan.blocks as usize);
    }
}

#[test]
fn every_chart_has_a_text_alternative() {
    let page = page(&fixture::web());
    let is_within = |it: &ElementRef| {
        it.ancestors().filter_map(ElementRef::wrap).any(|it| it.value().name() == "svg")
    };
    for svg in all(&page, "svg:not([aria-hidden])").iter().filter(|it| !is_within(it)) {
        assert_eq!(svg.attr("role"), Some("img"));
        assert!(svg.attr("aria-label").is_some_and(|label| label.len() > 10), "{}", svg.html());
    }
    let passed_over = all(&page, "svg[aria-hidden]:not(.definitions)");
    for svg in passed_over.iter().filter(|it| !is_within(it)) {
        let beside = svg.parent().and_then(ElementRef::wrap).unwrap();
        let says = beside.text().any(|text| !text.trim().is_empty());
        assert!(says, "a reader who can't see it is told nothing: {}", beside.html());
    }
    // What a bar shows is said in words beside it.
    let beside = all(&page, "#one-connections-5000-kept-true summary.row")[1];
    let parts = beside.text().map(str::trim).filter(|part| !part.is_empty());
    insta::assert_snapshot!(parts.collect::<Vec<_>>().join(" "), @"– Go net/http idiomatic 33.9k (33.7–34.4k) ✗ invalid");
}

/// What a reader who can't see a plot of percentiles is told of a load.
fn told_of_percentiles(page: &Html, section: &str) -> String {
    let plot = all(page, &format!("{section} .plot .lines"))[0];
    plot.attr("aria-label").unwrap().replace("; ", "\n")
}

#[test]
fn percentiles_have_a_line_a_contender_as_far_as_samples_go() {
    let page = page(&fixture::web());
    insta::assert_snapshot!(told_of_percentiles(&page, "#one-connections-30-kept-true"));
    insta::assert_snapshot!(text(&page, "#one-connections-30-kept-true figure:has(.plot)"));
    let lines = all(&page, "#one-connections-30-kept-true .plot svg g path");
    assert_eq!(lines.len(), 3, "a line each");
}

#[test]
fn nothing_is_drawn_where_samples_run_out() {
    let mut run = fixture::web();
    let keep = |run: &mut Run, contender: &str, samples: u64| {
        let mut few = fixture::percentiles_of(samples, 900.0);
        few.at.clear();
        let of = |trial: &&mut result::Trial| trial.slot.contender == contender;
        for trial in run.trials.iter_mut().filter(of) {
            trial.evidence.work.as_mut().unwrap().response_us = few.clone();
        }
    };
    keep(&mut run, "go", 1_000);
    keep(&mut run, "erlang", 90);
    let page = page(&run);
    let told = told_of_percentiles(&page, "#one-connections-1000-kept-true");
    let go = told.lines().find(|line| line.starts_with("Go")).unwrap();
    assert!(go.contains("p50") && go.contains("p90") && !go.contains("p99"), "{go}");
    assert!(!told.contains("Erlang"), "{told}");
    let key = text(&page, "#one-connections-1000-kept-true .key");
    assert!(key.contains("Erlang/OTP gen_tcp: no line, too few requests"), "{key}");
}

/// Its histograms are as good as any: the block has none, for it never came so far.
#[test]
fn a_row_with_a_block_without_load_has_no_line_for_that_reason() {
    let mut run = fixture::web();
    run.trials.iter_mut().find(|it| it.slot.contender == "erlang").unwrap().evidence.work = None;
    let key = all(&page(&run), ".key li[data-contender='erlang']")
        .iter()
        .map(|it| it.text().collect::<String>())
        .find(|it| it.contains("no line"));
    assert_eq!(key.as_deref(), Some("Erlang/OTP gen_tcp: no line, a block saw no load"));
}

#[test]
fn the_lines_of_invalid_figures_and_of_bounds_are_marked_so() {
    let page = page(&fixture::web());
    let go = all(&page, "#one-connections-5000-kept-true .plot g[data-contender='go']");
    assert!(go[0].attr("class").unwrap().contains("void"), "{}", go[0].html());
    let bounds = all(&page, "#one-connections-5000-kept-true .plot path.bound");
    assert_eq!(bounds.len(), 1, "from the 99th percentile on requests had no answer");
    let said = text(&page, "#one-connections-5000-kept-true figure:has(.plot) p");
    assert!(said.contains("Grey: the figures are invalid. Dotted: a lower bound"), "{said}");
}

#[test]
fn a_run_without_histograms_says_that_there_is_no_plot() {
    let mut run = fixture::web();
    for trial in &mut run.trials {
        trial.evidence.work.as_mut().unwrap().response_us.histogram = "?".into();
    }
    let page = page(&run);
    assert!(all(&page, ".plot").is_empty());
    let said = text(&page, "#one-connections-30-kept-true");
    assert!(said.contains("No percentile plot: this run keeps no histograms"), "{said}");
}

#[test]
fn open_loops_have_their_percentiles_from_the_intended_start() {
    let page = page(&fixture::open_loops());
    let plot = text(&page, "[id$='-equal-80'] figure:has(.plot)");
    assert!(plot.contains("from the intended start") && !plot.contains("coordinated"), "{plot}");
    insta::assert_snapshot!(told_of_percentiles(&page, "[id$='-equal-80']"));
}

/// As ab counted in 2009, beside whose times they stand.
#[test]
fn with_a_connection_a_request_the_wait_for_it_is_in_all_times() {
    let page = page(&fixture::largest());
    let from = "from the send and the handshake before it";
    let section = "[id$='-30-kept-false']";
    assert!(text(&page, &format!("{section} figure:has(.plot) figcaption")).contains(from));
    let times = text(&page, &format!("{section} table:has(caption)"));
    assert!(times.contains(&format!("Time to the whole answer, counted {from}")), "{times}");
}

/// A line that is drawn without its values and units tells nothing.
#[test]
fn each_chart_has_its_values_and_units_on_its_axes() {
    let page = page(&fixture::open_loops());
    let scale = text(&page, "figure:has(.curve) .scale");
    assert!(scale.starts_with("0\n") && scale.contains("k/s"), "{scale}");
    for curve in all(&page, ".curve") {
        let named: Vec<String> = curve
            .select(&Selector::parse("text").unwrap())
            .map(|text| text.text().collect())
            .collect();
        assert!(named.len() == 2 && named.iter().all(|it| it.ends_with('s')), "{named:?}");
    }
    for figure in ["figure:has(.bar) .scale", "figure:has(.plot) .times"] {
        let axis = text(&page, figure);
        assert!(axis.contains("/s") || axis.contains("µs") || axis.contains("ms"), "{axis}");
    }
}

#[test]
fn every_id_is_there_once_and_every_link_leads_to_one() {
    let page = page(&fixture::largest());
    let mut ids: Vec<&str> = all(&page, "[id]").iter().filter_map(|it| it.attr("id")).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is there twice");
    for link in all(&page, "a[href^='#']") {
        let target = &link.attr("href").unwrap()[1..];
        assert!(ids.contains(&target), "{target} leads nowhere");
    }
}

#[test]
fn the_page_is_well_formed() {
    for run in [fixture::web(), fixture::quick(), fixture::hostile(), without_figures()] {
        let page = page(&run);
        assert!(page.errors.is_empty(), "{:?}", page.errors);
    }
}

fn without_figures() -> Run {
    let mut run = fixture::quick();
    run.state = result::State::Unfinished;
    run.outcomes.clear();
    run.trials.clear();
    run
}

#[test]
fn the_page_needs_no_network_and_runs_no_script_but_its_own() {
    for run in [fixture::web(), fixture::hostile()] {
        let page = page(&run);
        let scripts = all(&page, "script");
        assert_eq!(scripts.len(), 1, "a script of somebody else is in it");
        let own: String = scripts[0].text().collect();
        assert!(own.starts_with("// Sorting") && !own.contains("//www") && !own.contains("fetch("));
        let active = "link, img, iframe, object, embed, base, form, [onerror], [onload]";
        assert!(all(&page, active).is_empty(), "{:?}", all(&page, active)[0].html());
        for element in all(&page, "[href], [src]") {
            let to = element.attr("href").or(element.attr("src")).unwrap();
            let local = to.starts_with('#') || to.starts_with("data:application/gzip;");
            assert!(local, "the page leads to {to}");
        }
        let style = text(&page, "style");
        assert!(!style.contains("//") && !style.contains("@import"), "the style fetches something");
        let policy = all(&page, "meta[http-equiv=Content-Security-Policy]");
        let policy = policy[0].attr("content").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'sha256-"));
    }
}

#[test]
fn hostile_text_is_shown_as_text() {
    let html = html(&fixture::hostile());
    let page = Html::parse_document(&html);
    assert_eq!(all(&page, "title").len(), 1);
    assert!(text(&page, "dl").contains("<script>document.title='owned'</script>"));
    for hidden in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
        assert!(!html.contains(hidden), "{hidden:?} is in the page");
    }
}

#[test]
fn the_largest_study_fits_a_megabyte_and_says_what_it_leaves_out() {
    let html = html(&fixture::largest());
    assert!(html.len() <= 1_000_000, "{} bytes", html.len());
    let page = Html::parse_document(&html);
    let plots: Vec<usize> = all(&page, ".plot").iter().map(|it| it.html().len()).collect();
    assert_eq!(plots.len(), 16 + 1, "a plot a load, and one of the rate for all");
    assert!(plots.iter().sum::<usize>() <= 250_000, "{plots:?} bytes in plots");
    assert!(text(&page, "header").contains("So that the page stays small, it leaves out"));
    let small = text(&self::page(&fixture::web()), "header");
    assert!(!small.contains("stays small"), "a small page is whole: {small}");
}

/// A busy machine has a comparison in eight made again, which took 4 KB of the page each.
#[test]
fn comparisons_made_again_leave_the_largest_study_within_a_megabyte() {
    let mut run = fixture::largest();
    let aside = run.trials.iter().filter(|trial| trial.slot.block == 0);
    run.disturbed = aside.cloned().collect();
    for trial in &mut run.disturbed {
        trial.evidence.others_cpu_s = Some(3.0);
    }
    let html = html(&run);
    assert!(html.len() <= 1_000_000, "{} bytes", html.len());
    let page = Html::parse_document(&html);
    let reasons = all(&page, "#made-again ~ ul")[0].select(&Selector::parse("li").unwrap()).count();
    assert_eq!(reasons, 16 + 1, "each is named with its reason, that of the rate for all too");
    assert!(all(&page, "#made-again ~ * table").is_empty(), "there was no room for that");
    let opened = all(&page, "details");
    let nothing = opened.iter().filter(|it| it.children().count() < 2).count();
    assert_eq!(nothing, 0, "something to open that holds nothing");
    assert!(!all(&page, ".ranked").is_empty(), "their checks are left out");
}

#[test]
fn text_without_bound_does_not_make_a_page_without_bound() {
    let bytes = html(&fixture::hostile()).len();
    assert!(bytes <= 1_000_000, "{bytes} bytes");
}

#[test]
fn an_invalid_point_of_a_curve_is_drawn_and_told_so() {
    let told = |run: &Run| {
        let page = page(run);
        let chart = all(&page, "svg.curve")[0];
        (all(&page, ".curve circle.invalid").len(), chart.attr("aria-label").unwrap().to_string())
    };
    let (drawn, said) = told(&fixture::open_loops());
    assert!(drawn == 0 && !said.contains("invalid"), "{said}");
    let (drawn, said) = told(&fixture::overloaded());
    assert_eq!(drawn, 2, "its p50 and its p99");
    assert!(said.ends_with("at 110 %, which is invalid"), "{said}");
}

/// Drawn like the others, it would be read off as a time that was measured.
#[test]
fn a_time_of_a_curve_that_is_a_lower_bound_is_drawn_and_told_so() {
    let mut run = fixture::open_loops();
    let told = |run: &Run| {
        let page = page(run);
        let caption = text(&page, "figure:has(svg.curve) figcaption");
        (all(&page, ".curve line.bound").len(), caption.contains("the time may be longer"))
    };
    assert_eq!(told(&run), (0, false));
    let last = run.curves[0].lines[0].points.last_mut().unwrap();
    last.figures.get_mut(P99_US).unwrap().at_least = true;
    assert_eq!(told(&run), (1, true), "its p99 alone");
}

/// All shares of a curve are of that figure.
#[test]
fn what_100_percent_is_has_the_word_on_the_figure_that_it_is_of() {
    let told = |run: &Run| text(&page(run), ".row:has(svg.curve) .value");
    let mut run = fixture::open_loops();
    assert_eq!(told(&run), "100 % is 61.2k/s\n○");
    for (verdict, sign) in [(Verdict::Suspect, "?"), (Verdict::Invalid, "✗"), (Verdict::Valid, "✓")]
    {
        fixture::row_of(&mut run, 0, "nginx-return").verdict = verdict;
        assert_eq!(told(&run), format!("100 % is 61.2k/s\n{sign}"));
    }
    fixture::figure_of(fixture::row_of(&mut run, 0, "nginx-return"), RATE).at_least = true;
    assert_eq!(told(&run), "100 % is ≥61.2k/s\n✓");
    run.outcomes.clear();
    assert_eq!(told(&run), "100 % is 61.2k/s", "nothing is known of that figure");
}

#[test]
fn a_verdict_of_open_loops_opens_what_is_against_the_figure() {
    const OPENED: &str = "td details, [id$='-equal-80'] details:has(summary .suspect)";
    let opened: Vec<String> = all(&page(&fixture::overloaded()), OPENED)
        .iter()
        .map(|it| it.text().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(opened.len(), 2, "{opened:?}");
    for part in ["client-limit", "99.1 % busy", "Threshold:", "Fix:"] {
        assert!(opened.iter().all(|it| it.contains(part)), "no `{part}` in {opened:?}");
    }
    assert!(all(&page(&fixture::open_loops()), "td details").is_empty(), "nothing to open");
}

/// A page that has room for all detail claims to have it.
#[test]
fn no_check_of_many_is_cut_off() {
    let mut run = fixture::quick();
    let row = fixture::row_of(&mut run, 0, "go");
    let valid = row.findings.iter().find(|it| it.verdict == Verdict::Valid).unwrap().clone();
    let value = "v".repeat(100);
    row.findings.extend((0..30).map(|number| Finding {
        check: format!("check-{number}"),
        value: value.clone(),
        ..valid.clone()
    }));
    let shown = html(&run);
    for number in 0..30 {
        assert!(shown.contains(&format!("check-{number}: {value}")), "{number} is missing");
    }
}

#[test]
fn what_failed_at_first_is_shown_with_its_reason() {
    let mut run = fixture::quick();
    let mut trial = run.trials[0].clone();
    trial.evidence.work = None;
    trial.evidence.process.failure = Some("it ended with exit code 1 <b>".into());
    run.failed.push(trial);
    let page = page(&run);
    insta::assert_snapshot!(text(&page, "#failed-first ~ ul"), @"Block 1, 30 connections kept alive, one core, nginx, by configuration alone: it ended with exit code 1 <b>");
    let made_again = "1 trial failed, and was made again when";
    assert!(text(&page, "header").contains(made_again));
    run.trials.remove(0);
    assert!(!html(&run).contains(made_again), "the run was stopped before that");
    let without = html(&fixture::quick());
    assert!(!without.contains("Failed at first"), "nothing had failed");
}

#[test]
fn trials_that_the_page_has_no_room_for_are_said_to_be_elsewhere() {
    let says = "The trials are too many to be kept in this page; run.json beside it has them.";
    let mut run = fixture::web();
    assert!(!text(&page(&run), "footer").contains(says));
    // Nothing to compress, in a text that isn't shown.
    let digest = |at: u64| format!("{:016x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    run.trials[0].evidence.process.last_words = (0..150_000).map(digest).collect();
    let html = html(&run);
    assert!(html.len() <= 1_000_000, "{} bytes", html.len());
    let page = Html::parse_document(&html);
    assert!(text(&page, "footer").contains(says));
    assert!(all(&page, "a[download]").is_empty(), "what isn't there can't be downloaded");
}

#[test]
fn the_raw_data_is_the_run_without_histograms() {
    let mut run = fixture::disturbed();
    let page = page(&run);
    let link = all(&page, "a[download]")[0].attr("href").unwrap();
    let bytes = BASE64_STANDARD.decode(link.split(',').nth(1).unwrap()).unwrap();
    let mut json = String::new();
    flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut json).unwrap();
    let trials = run.trials.iter_mut().chain(&mut run.disturbed);
    for evidence in trials.map(|trial| &mut trial.evidence) {
        let work = evidence.work.as_mut().unwrap();
        let connect_us = &mut evidence.clients[0].connect_us;
        for percentiles in [&mut work.response_us, &mut work.service_us, connect_us] {
            percentiles.histogram.clear();
        }
    }
    let written = serde_json::to_string(&run).unwrap();
    assert!(json == written, "the raw data isn't the run");
}

/// Programs drive themselves: a row without a word would look like something lost.
#[test]
fn a_page_of_programs_has_no_row_of_a_client() {
    let mut run = fixture::quick();
    let row = "<dt>client</dt>";
    assert!(html(&run).contains(row));
    run.trials.iter_mut().for_each(|trial| trial.evidence.clients.clear());
    assert!(!html(&run).contains(row));
}
