//! Who takes part in a duel: a command, or the URL of a server that runs already.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::commands::load::target;

/// The longest name: it is a folder's, and stands in tables.
const NAME_CHARS_MAX: usize = 40;
/// The name that the study's own file has in the folder where each that takes part has one.
pub const STUDY: &str = "study.toml";
/// Time for a connection on this machine.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);

/// Somebody who takes part.
#[derive(Debug, Clone, PartialEq)]
pub struct Entrant {
    /// What it is called, which is also its folder's name.
    pub name: String,
    /// What it is.
    pub what: What,
}

/// What takes part.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A command for a shell, which starts a server.
    Command(String),
    /// A server that runs already.
    Running {
        /// Where it listens.
        address: SocketAddr,
        /// The path of its URL; `None` if that has none.
        path: Option<String>,
    },
}

impl Entrant {
    /// All that were given: first those without a name, then `NAME=COMMAND|URL`.
    ///
    /// # Errors
    /// What is wrong with one of them, in a sentence.
    pub fn all(unnamed: &[String], named: &[String]) -> Result<Vec<Entrant>, String> {
        let mut all: Vec<Entrant> = Vec::new();
        for text in unnamed {
            let what = What::parse(text)?;
            let name = free_name(&all, &what.name());
            all.push(Entrant { name, what });
        }
        for text in named {
            let (name, rest) = text.split_once('=').unwrap_or_default();
            if name.is_empty() || rest.is_empty() || name != slug(name) {
                return Err(format!(
                    "--name {text}: give NAME=COMMAND or NAME=URL, with a name of at most \
                     {NAME_CHARS_MAX} letters, digits, `.`, `_` and `-`"
                ));
            }
            if name == STUDY {
                return Err(format!("--name {text}: {STUDY} is the file of the study itself"));
            }
            if all.iter().any(|it| it.name == name) {
                return Err(format!("--name {text}: there is another `{name}` already"));
            }
            all.push(Entrant { name: name.into(), what: What::parse(rest)? });
        }
        match all.len() {
            0 | 1 => Err("a duel takes two: give two or more commands or URLs".into()),
            _ => Ok(all),
        }
    }
}

impl What {
    fn parse(text: &str) -> Result<What, String> {
        if text.trim().is_empty() {
            return Err("one of the commands is empty".into());
        }
        if text.parse::<SocketAddr>().is_ok() || is_port_of_localhost(text) {
            return Err(format!("{text} is no command; of a server that runs write http://{text}"));
        }
        let Some((scheme, rest)) = url(text) else { return Ok(What::Command(text.into())) };
        let shown = target::shown(text);
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => {
                return Err(format!("{shown}: TLS isn't there yet; give an http:// URL"));
            }
            _ => {
                return Err(format!(
                    "{shown}: a duel asks by http:// URLs alone; of stores give the commands that \
                     start them, with --mix"
                ));
            }
        }
        // What is behind # is the client's own, and never sent.
        let rest = rest.split('#').next().unwrap_or_default();
        let (host, path) = match rest.find(['/', '?']) {
            Some(at) => (&rest[..at], Some(&rest[at..])),
            None => (rest, None),
        };
        let path = path.map(|path| match path.strip_prefix('?') {
            Some(query) => format!("/?{query}"),
            None => path.into(),
        });
        let path = path.filter(|path| path != "/");
        let address = address(host).ok_or_else(|| {
            format!(
                "{shown}: a duel asks a server by its address, so that its Host is the same for \
                 all: give an IP address or `localhost`, and a port if it isn't 80"
            )
        })?;
        Ok(What::Running { address, path })
    }

    /// A name for it: of a command its program, and what that is to run.
    fn name(&self) -> String {
        match self {
            What::Running { address, .. } => slug(&address.to_string()),
            What::Command(command) => {
                let is_name = |word: &&str| !word.contains(['=', '$']) && !word.starts_with('-');
                let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_string();
                let words: Vec<String> = command
                    .split_whitespace()
                    .skip_while(|word| word.contains('='))
                    .take_while(is_name)
                    .take(2)
                    .map(base)
                    .collect();
                match slug(&words.join("-")) {
                    name if name.is_empty() => "server".into(),
                    name => name,
                }
            }
        }
    }
}

/// The file that a command starts, of one as `./a` or `node b.js` in this folder: another file
/// there later is another server. `None` where it starts what is found in `PATH` alone.
pub fn program(command: &str, here: &Path) -> Option<PathBuf> {
    let words = command.split_whitespace().skip_while(|word| word.contains('='));
    let words = words.filter(|word| !word.starts_with('-')).take(2);
    let mut files = words.filter_map(|word| std::path::absolute(here.join(word)).ok());
    files.find(|file| file.is_file())
}

/// The scheme of a URL, and what is behind it; `None` of a command.
fn url(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    (!scheme.is_empty() && scheme.chars().all(is_scheme)).then_some((scheme, rest))
}

fn is_port_of_localhost(text: &str) -> bool {
    text.strip_prefix("localhost:").is_some_and(|port| port.parse::<u16>().is_ok())
}

fn address(host: &str) -> Option<SocketAddr> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
        _ => (host, 80),
    };
    match name {
        name if name.eq_ignore_ascii_case("localhost") => Some(of_localhost(port)),
        name => Some(SocketAddr::new(name.trim_matches(['[', ']']).parse::<IpAddr>().ok()?, port)),
    }
}

/// Where somebody listens who is called `localhost`: in IPv4, unless somebody does in IPv6 alone.
fn of_localhost(port: u16) -> SocketAddr {
    let [four, six]: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let [four, six] = [four, six].map(|ip| SocketAddr::new(ip, port));
    let listens = |at: &SocketAddr| TcpStream::connect_timeout(at, CONNECTED_WITHIN).is_ok();
    if !listens(&four) && listens(&six) { six } else { four }
}

/// What can be a folder's name: other characters become dashes.
fn slug(text: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
    let text: String = text.chars().map(|char| if kept(char) { char } else { '-' }).collect();
    text.trim_matches(['.', '-']).chars().take(NAME_CHARS_MAX).collect()
}

/// The name, or one with a number behind it if somebody has it.
fn free_name(all: &[Entrant], name: &str) -> String {
    let is_free = |name: &String| name != STUDY && all.iter().all(|it| it.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = [name.to_string()].into_iter().chain(numbered);
    names.find(is_free).expect("numbers don't end")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(unnamed: &[&str]) -> Vec<String> {
        let unnamed: Vec<String> = unnamed.iter().map(|it| it.to_string()).collect();
        Entrant::all(&unnamed, &[]).unwrap().into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn a_command_is_called_by_its_program_and_what_that_runs() {
        assert_eq!(names(&["./a --port $PORT", "node b.js"]), ["a", "node-b.js"]);
        assert_eq!(names(&["DEBUG=1 /usr/bin/env x", "x y z"]), ["env-x", "x-y"]);
        assert_eq!(names(&["./a", "../old/a", "./a"]), ["a", "a-2", "a-3"], "all are told apart");
        assert_eq!(names(&["http://127.0.0.1:3000", "$X"]), ["127.0.0.1-3000", "server"]);
        assert_eq!(names(&["./study.toml", "./a"]), ["study.toml-2", "a"], "that is the study's");
    }

    #[test]
    fn the_program_of_a_command_is_a_file_of_the_folder_or_what_runs_it() {
        let here = tempfile::tempdir().unwrap();
        for name in ["a", "b.js", "data"] {
            std::fs::write(here.path().join(name), "").unwrap();
        }
        let found = |command: &str| {
            let file = program(command, here.path())?;
            Some(file.strip_prefix(here.path()).unwrap().display().to_string())
        };
        for (command, file) in [
            ("./a $PORT", Some("a")),
            ("DEBUG=1 ./a data", Some("a")),
            ("node b.js", Some("b.js")),
            ("python3 -u b.js data", Some("b.js")),
            ("server --port 80", None),
            ("server 80 data", None),
        ] {
            assert_eq!(found(command).as_deref(), file, "{command}");
        }
    }

    #[test]
    fn a_url_is_an_address_and_perhaps_a_path() {
        let parse = |url: &str| match What::parse(url).unwrap() {
            What::Running { address, path } => (address.to_string(), path),
            other => panic!("{other:?}"),
        };
        assert_eq!(parse("http://localhost:3000"), ("127.0.0.1:3000".into(), None));
        assert_eq!(parse("http://[::1]:80/"), ("[::1]:80".into(), None));
        assert_eq!(parse("http://10.0.0.1/x?y=1"), ("10.0.0.1:80".into(), Some("/x?y=1".into())));
        // Else one is taken for a command, or the server is asked for what no browser asks.
        assert_eq!(parse("HTTP://LocalHost:9#top"), ("127.0.0.1:9".into(), None));
        assert_eq!(parse("http://10.0.0.1?y=1#z"), ("10.0.0.1:80".into(), Some("/?y=1".into())));
        let command = "curl http://10.0.0.1";
        assert_eq!(What::parse(command), Ok(What::Command(command.into())));
    }

    #[test]
    fn localhost_is_where_somebody_listens() {
        let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
        let at = listener.local_addr().unwrap();
        assert_eq!(of_localhost(at.port()), at);
    }

    #[test]
    fn what_cant_take_part_is_refused_in_a_sentence() {
        let refused = |unnamed: &[&str], named: &[&str]| {
            let [unnamed, named] =
                [unnamed, named].map(|all| all.iter().map(|it| it.to_string()).collect::<Vec<_>>());
            Entrant::all(&unnamed, &named).unwrap_err()
        };
        let all = [
            refused(&["./a"], &[]),
            refused(&["./a", " "], &[]),
            refused(&["./a", "https://localhost"], &[]),
            refused(&["./a", "http://example.org/"], &[]),
            refused(&["./a", "127.0.0.1:3000"], &[]),
            refused(&["./a", "localhost:3000"], &[]),
            refused(&["./a", "http://me:secret@127.0.0.1/"], &[]),
            refused(&["./a", "redis://:secret@127.0.0.1"], &[]),
            refused(&["./a"], &["b"]),
            refused(&["./a"], &["../b=./b"]),
            refused(&["./a"], &["a=./b"]),
            refused(&["./a"], &["study.toml=./b"]),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
