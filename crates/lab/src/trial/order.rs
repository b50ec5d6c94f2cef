//! What a keeper is to start: a contender's command, its files and its environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keeper::{Order, Scratch};
use load::plan::headers::with_variables;
use result::evidence::Place;

use crate::environment;
use crate::place::Host;
use crate::ready::programs;
use crate::study::contender::{Contender, Placeholders};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// Stands in for a server that runs already: a keeper has to have somebody to keep, and the
/// client its control group.
const NOBODY: [&str; 2] = ["sleep", "infinity"];

/// Where a contender is to listen: at a free port, unless it has one of its own.
///
/// # Errors
/// One sentence, if no port is free.
pub fn address(contender: &Contender, host: &dyn Host) -> Result<SocketAddr, String> {
    if let Some(address) = &contender.file.address {
        return Ok(*address.get_ref());
    }
    let mut address = host.free_address()?;
    contender.file.host.iter().for_each(|&ip| address.set_ip(ip));
    Ok(address)
}

/// A contender that is to listen on this address, with a folder of its own, on the processors
/// of its place. Its output goes where errors go.
///
/// # Errors
/// One sentence, if one of its files can't be read, or a variable that it is handed on isn't
/// set.
pub fn order(
    contender: &Contender,
    host: &dyn Host,
    place: &Place,
    address: SocketAddr,
    dir: PathBuf,
) -> Result<Order, String> {
    let file = &contender.file;
    let placeholders = Placeholders {
        source: contender.source.clone(),
        build: contender.build_folder(),
        dir: dir.clone(),
        host: address.ip().to_string(),
        port: address.port(),
        cores: place.server_cpus.len(),
    };
    let mut files = Vec::new();
    for name in &file.files {
        let text = std::fs::read_to_string(contender.source.join(name))
            .map_err(|error| format!("couldn't read its file {name}: {error}"))?;
        files.push((name.clone(), placeholders.fill(&text)));
    }
    Ok(Order {
        command: if contender.runs_already() {
            NOBODY.map(String::from).to_vec()
        } else {
            placeholders.fill_all(&file.run)
        },
        environment: environment_of(contender, &placeholders, &dir)?,
        folder: file.folder.as_ref().map(|it| it.get_ref().clone()),
        scratch: Some(Scratch { path: dir, files }),
        cgroup: host.cgroup(place),
        client_cgroup: host.cgroup(place),
        cpus: place.server_cpus.clone(),
        grace: GRACE,
        lines: false,
        input: true,
    })
}

/// What a contender finds in its environment: what it is to do, and nothing of
/// the user's own, which would differ from machine to machine, but for what its file names.
fn environment_of(
    contender: &Contender,
    placeholders: &Placeholders,
    dir: &Path,
) -> Result<Vec<(String, String)>, String> {
    let mut all = vec![
        ("PATH".into(), programs::search_path()),
        ("HOME".into(), dir.display().to_string()),
        // What it leaves there is gone with the trial.
        ("TMPDIR".into(), dir.display().to_string()),
        ("LANG".into(), "C.UTF-8".into()),
        ("HOST".into(), placeholders.host.clone()),
        ("PORT".into(), placeholders.port.to_string()),
        ("CORES".into(), placeholders.cores.to_string()),
    ];
    for (name, value) in &contender.file.environment {
        let value = placeholders.fill(value);
        let value = with_variables(&value, environment::value)
            .map_err(|variable| environment::not_set(&[variable]))?;
        all.push((name.clone(), value));
    }
    Ok(all)
}
