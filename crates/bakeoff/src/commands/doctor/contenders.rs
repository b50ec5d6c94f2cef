//! Whether the contenders of the study can be had.

use lab::trial::nobody::Tools;

use super::line::{Harm, Line};

pub fn contenders(all: &[Tools]) -> Vec<Line> {
    let mut lines: Vec<Line> = all.iter().map(tools).collect();
    if !all.is_empty() && all.iter().all(|tools| tools.versions.is_err()) {
        let found = format!("not one of {} can be had", all.len());
        let line = Line::new(Harm::Nobody, "contenders", found);
        lines.push(line.advise("Install what one of them needs."));
    }
    lines
}

fn tools(tools: &Tools) -> Line {
    let name = &tools.contender;
    let versions: Vec<&str> = match &tools.versions {
        Err(missing) => return Line::note(name, format!("absent: {missing}")),
        Ok(versions) => versions.iter().map(|version| &*version.says).collect(),
    };
    let told = if versions.is_empty() { "its tools are there".into() } else { versions.join("; ") };
    let more = if tools.is_to_be_built { "; to be built" } else { "" };
    Line::fine(name, told + more)
}
