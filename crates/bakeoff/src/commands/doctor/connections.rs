//! Whether there is room for the connections that the profiles ask for.

use lab::trial::nobody::{Checkup, Demands};
use report::units;
use result::finding::Verdict;
use result::plan::Setting;

use super::line::{Harm, Line};

/// `None` where programs drive themselves, which takes no connections.
pub fn open_files(checkup: &Checkup) -> Option<Line> {
    let what = "open files";
    let refused: Vec<String> = checkup.profiles.iter().filter_map(refused).collect();
    if refused.is_empty() {
        let loads = checkup.profiles.iter().flat_map(|profile| &profile.loads);
        let most = loads.map(|load| load.connections()).max().filter(|&most| most > 0)?;
        let enough = format!("enough for {}", units::of(most.into(), "connection"));
        return Some(Line::fine(what, enough));
    }
    let is_study = checkup.contenders.is_some();
    let is_all = is_study && refused.len() == checkup.profiles.len();
    Some(Line::new(if is_all { Harm::Stops } else { Harm::Note }, what, refused.join("; ")))
}

/// Why a profile can't be measured.
fn refused(profile: &Demands) -> Option<String> {
    let why = profile.refused.as_ref()?;
    Some(match &profile.name {
        Some(name) => format!("profile `{name}`: {why}"),
        None => why.clone(),
    })
}

pub fn listen_queue(checkup: &Checkup) -> Option<Line> {
    let (what, setting) = ("listen queue", "net.core.somaxconn");
    let there: u32 = sysctl(checkup, setting)?.parse().ok()?;
    let found = format!("{} may wait ({setting})", units::of(there.into(), "connection"));
    let Some((most, whose)) = too_many(checkup, there, |load| !load.kept()) else {
        return Some(Line::fine(what, found));
    };
    let found = format!(
        "{found}, and {} are opened at once{whose}, one a request: what overflows comes seconds \
         later (load-arrived)",
        units::whole(most.into())
    );
    let advice = format!("As root: `sysctl -w {setting}={}`.", most.next_power_of_two());
    Some(Line::new(Verdict::Suspect, what, found).advise(advice))
}

pub fn ports(checkup: &Checkup) -> Option<Line> {
    let (what, setting) = ("ports", "net.ipv4.ip_local_port_range");
    let (first, last) = sysctl(checkup, setting)?.split_once(' ')?;
    let there = last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1;
    let found = format!("{} for the client ({setting})", units::whole(there.into()));
    let takes_one_each = |load: &Setting| load.kept() && load.connections() <= load::ONE_SOURCE_MAX;
    let Some((most, whose)) = too_many(checkup, there, takes_one_each) else {
        return Some(Line::fine(what, found));
    };
    let most = units::whole(most.into());
    let found = format!("{found}, and {most} kept connections{whose} take one each");
    let advice = format!("As root: `sysctl -w {setting}=\"32768 60999\"`.");
    Some(Line::new(Verdict::Suspect, what, found).advise(advice))
}

/// Where a contender may find its port taken by a client.
pub fn contenders_port(checkup: &Checkup) -> Option<Line> {
    checkup.no_port.as_ref().map(|why| Line::note("a contender's port", why))
}

/// A setting of the kernel.
fn sysctl<'a>(checkup: &'a Checkup, name: &str) -> Option<&'a str> {
    let (_, value) = checkup.machine.sysctl.iter().find(|(known, _)| known == name)?;
    Some(value)
}

/// The most connections of such loads, where there are more than so many, and the
/// profiles that ask for that.
fn too_many(
    checkup: &Checkup,
    there: u32,
    is_such: impl Fn(&Setting) -> bool,
) -> Option<(u32, String)> {
    let most = |profile: &Demands| {
        let loads = profile.loads.iter().filter(|load| is_such(load));
        loads.map(|load| load.connections()).max().filter(|&most| most > there)
    };
    let all = checkup.profiles.iter().filter_map(most).max()?;
    let names = checkup.profiles.iter().filter(|profile| most(profile).is_some());
    let names: Vec<String> =
        names.filter_map(|it| Some(format!("`{}`", it.name.as_ref()?))).collect();
    let whose = if names.is_empty() {
        String::new()
    } else {
        format!(" in the profile {}", names.join(", "))
    };
    Some((all, whose))
}
