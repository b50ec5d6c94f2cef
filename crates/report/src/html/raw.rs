//! The data behind the page, within it.

use std::io::BufWriter;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, write::GzEncoder};
use maud::{Markup, html};
use result::Run;

use crate::units;

/// A link that saves the run without its histograms, which are most of it.
/// Compressed text in base64 has no character that HTML knows, so whatever a
/// server wrote stays data. Where there are fewer bytes of room than it needs,
/// the page goes without.
pub fn raw(run: &Run, room: usize) -> Markup {
    let data = compressed(run).map(|bytes| BASE64_STANDARD.encode(bytes));
    html! {
        footer {
            h2 { "Raw data" }
            @match data {
                Ok(data) if data.len() <= room => p {
                    a download="run.json.gz" href={ "data:application/gzip;base64," (data) } {
                        "run.json.gz"
                    }
                    " (" (units::bytes((data.len() / 4 * 3) as u64)) ") is this run with all its "
                    "trials. Only the histograms are left out; run.json beside this page has them."
                },
                Ok(_) => p {
                    "The trials are too many to be kept in this page; run.json beside it has them."
                },
                Err(why) => p { "The trials could not be put into this page: " (why) },
            }
        }
    }
}

fn compressed(run: &Run) -> std::io::Result<Vec<u8>> {
    let mut run = run.clone();
    let trials = run.trials.iter_mut().chain(&mut run.disturbed);
    for evidence in trials.map(|trial| &mut trial.evidence) {
        let of_work =
            evidence.work.iter_mut().flat_map(|it| [&mut it.response_us, &mut it.service_us]);
        let of_clients = evidence.clients.iter_mut().flat_map(|it| {
            let open = it.lateness_us.iter_mut().chain(&mut it.connection_wait_us);
            open.chain([&mut it.connect_us])
        });
        for percentiles in of_work.chain(of_clients) {
            percentiles.histogram.clear();
        }
    }
    // JSON is written in thousands of pieces, and the encoder has work to do with each.
    let mut to = BufWriter::new(GzEncoder::new(Vec::new(), Compression::best()));
    serde_json::to_writer(&mut to, &run)?;
    to.into_inner()?.finish()
}
