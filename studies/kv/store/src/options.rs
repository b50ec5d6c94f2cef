//! The command line: `store --engine NAME --dir DIR …`, with the engine's own flags behind.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Error, Result};

/// What holds for every engine.
#[derive(Debug)]
pub struct Options {
    pub engine: String,
    /// The folder for the data.
    pub dir: PathBuf,
    pub host: IpAddr,
    pub port: u16,
    /// How many threads there are, each with a loop of its own.
    pub cores: usize,
}

/// What was given by `--name value`, or by `--name` alone, and isn't taken yet.
#[derive(Debug, Default)]
pub struct Flags(BTreeMap<String, Option<String>>);

impl Options {
    /// Takes the options, and leaves the flags of the engine.
    ///
    /// # Errors
    /// What is missing or makes no sense.
    pub fn take(flags: &mut Flags) -> Result<Options> {
        let cores = flags.parsed("cores")?.unwrap_or(1);
        if !(1..=1024).contains(&cores) {
            return Err(Error::new("--cores has to be a number from 1 to 1024"));
        }
        Ok(Options {
            engine: flags.text("engine")?.ok_or_else(|| Error::new("--engine NAME is missing"))?,
            dir: flags.text("dir")?.unwrap_or_else(|| ".".into()).into(),
            host: flags.parsed("host")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: flags.parsed("port")?.unwrap_or(6379),
            cores,
        })
    }
}

impl Flags {
    /// Reads the arguments, without the program's name.
    ///
    /// # Errors
    /// What is no flag, and what is there twice.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Flags> {
        let mut flags = BTreeMap::new();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let Some(name) = argument.strip_prefix("--") else {
                return Err(Error::new(format!("{argument}: flags begin with --")));
            };
            let value = arguments.next_if(|next| !next.starts_with("--"));
            if flags.insert(name.to_string(), value).is_some() {
                return Err(Error::new(format!("--{name} is there twice")));
            }
        }
        Ok(Flags(flags))
    }

    /// Whether `--name` is there, which takes no value.
    ///
    /// # Errors
    /// If it has one.
    pub fn is_set(&mut self, name: &str) -> Result<bool> {
        match self.0.remove(name) {
            None => Ok(false),
            Some(None) => Ok(true),
            Some(Some(value)) => Err(Error::new(format!("--{name} takes no value, as {value}"))),
        }
    }

    /// The value of `--name`.
    ///
    /// # Errors
    /// If it has none.
    pub fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Some(value)) => Ok(Some(value)),
            Some(None) => Err(Error::new(format!("--{name} takes a value"))),
        }
    }

    /// The value of `--name` as something else than text.
    ///
    /// # Errors
    /// If it can't be read as that.
    pub fn parsed<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(value) = self.text(name)? else { return Ok(None) };
        let no = |_| Error::new(format!("--{name} can't be {value}"));
        value.parse().map(Some).map_err(no)
    }

    /// The value of `--name`, which is one of these words; the first if it isn't given.
    ///
    /// # Errors
    /// If it is another one.
    pub fn one_of(&mut self, name: &str, words: &[&'static str]) -> Result<&'static str> {
        let value = self.text(name)?;
        let found = match &value {
            None => words.first(),
            Some(value) => words.iter().find(|word| *word == value),
        };
        found.copied().ok_or_else(|| {
            let value = value.unwrap_or_default();
            Error::new(format!("--{name} is one of {}, and not {value}", words.join(", ")))
        })
    }

    /// Refuses what nobody took.
    ///
    /// # Errors
    /// If there is something.
    pub fn end(self, engine: &str) -> Result<()> {
        match self.0.into_keys().next() {
            Some(name) => Err(Error::new(format!("the engine {engine} knows no --{name}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Result<Flags> {
        Flags::read(line.split_whitespace().map(String::from))
    }

    fn complaint<T>(of: Result<T>) -> String {
        of.err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn options_are_taken_and_the_flags_of_the_engine_are_left() {
        let mut flags = flags("--engine log --port 7000 --forget-folder --sync-every 10").unwrap();
        let options = Options::take(&mut flags).unwrap();
        assert_eq!((&*options.engine, options.port, options.cores), ("log", 7000, 1));
        assert_eq!(flags.is_set("forget-folder"), Ok(true));
        assert_eq!(flags.parsed("sync-every"), Ok(Some(10)));
        assert_eq!(flags.one_of("sync", &["commit", "none"]), Ok("commit"));
        assert!(flags.end("log").is_ok());
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_a_sentence() {
        let options = |line: &str| complaint(Options::take(&mut flags(line).unwrap()));
        assert_eq!(options("--port 7"), "--engine NAME is missing");
        assert_eq!(options("--engine map --port 70000"), "--port can't be 70000");
        assert_eq!(options("--engine map --cores 0"), "--cores has to be a number from 1 to 1024");
        assert_eq!(complaint(flags("-p 7")), "-p: flags begin with --");
        assert_eq!(complaint(flags("--dir a --dir b")), "--dir is there twice");
        assert_eq!(
            complaint(flags("--bnum 7").unwrap().end("lmdb")),
            "the engine lmdb knows no --bnum"
        );
        assert_eq!(
            complaint(flags("--sync always").unwrap().one_of("sync", &["commit", "none"])),
            "--sync is one of commit, none, and not always"
        );
    }
}
