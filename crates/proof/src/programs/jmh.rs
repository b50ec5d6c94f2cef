//! JMH, the benchmark harness of OpenJDK: how it is made for a contender, started and read.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lab::study::contender::{Contender, Placeholders};
use serde::Deserialize;

use crate::client::Running;
use crate::interrupt::Interrupt;

/// Seconds of an iteration of JMH's.
const ITERATION_S: u32 = 1;
/// It warms up for as long as the lab has the contenders do.
const WARMUPS: u32 = 3;
const ITERATIONS: u32 = 3;
const AT_MOST: Duration = Duration::from_secs(300);

/// The benchmark of a contender in Java.
#[derive(Debug)]
pub struct Jmh {
    /// The JVM and its options, as the lab starts it, but for the classes.
    jvm: Vec<String>,
    classes: String,
    /// The contender's main class, and its own arguments.
    program: String,
}

impl Jmh {
    /// Makes it in a folder, for a contender that was built.
    pub fn make(contender: &Contender, source: &Path, build: &Path) -> Result<Jmh, String> {
        let mut compile = Command::new(source.join("compile"));
        let output = compile.arg(contender.build_folder()).arg(build).output();
        let output = output.map_err(|error| format!("{}: {error}", source.display()))?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let last = said.trim().lines().last().unwrap_or("it said nothing").to_string();
            return Err(format!("JMH's benchmark couldn't be made: {last}"));
        }
        let (source, own) = (contender.source.clone(), contender.build_folder());
        let placeholders = Placeholders { source, build: own, cores: 1, ..Placeholders::default() };
        Jmh::of(&placeholders.fill_all(&contender.file.run), build)
            .ok_or_else(|| format!("{} has no class path in its command", contender.name))
    }

    /// Of the command that starts a contender, with what was made for JMH before its classes.
    fn of(command: &[String], build: &Path) -> Option<Jmh> {
        let at = command.iter().position(|word| word == "-cp")?;
        let (classes, program) = command[at + 1..].split_first()?;
        let build = build.display();
        Some(Jmh {
            jvm: command[..at].to_vec(),
            classes: format!("{build}/classes:{build}/lib/*:{classes}"),
            program: program.join(" "),
        })
    }

    /// Measures on these processors, each of its works in a fresh JVM: nanoseconds a record.
    pub fn measure(
        &self,
        records: &Path,
        cpus: &[usize],
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<BTreeMap<String, f64>, String> {
        let json = folder.join("jmh.json");
        let running = Running::start(&self.command(records, &json), cpus, AT_MOST)?;
        running.wait(interrupt)?.success().map_err(|why| format!("JMH: {why}"))?;
        let json = std::fs::read_to_string(&json).map_err(|error| format!("JMH: {error}"))?;
        read(&json)
    }

    fn command(&self, records: &Path, json: &Path) -> Vec<String> {
        let run = format!(
            "-foe true -f 1 -w {ITERATION_S} -wi {WARMUPS} -r {ITERATION_S} -i {ITERATIONS} -rf json"
        );
        let mut command = self.jvm.clone();
        command.extend(["-cp", &self.classes, "org.openjdk.jmh.Main"].map(String::from));
        command.extend(run.split(' ').map(String::from));
        command.extend(["-rff".into(), json.display().to_string()]);
        command.extend(["-p".into(), format!("contender={}", self.program)]);
        command.extend(["-p".into(), format!("records={}", records.display())]);
        command
    }
}

/// What JMH says of one benchmark: the fields that are looked at here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    benchmark: String,
    mode: String,
    forks: u32,
    primary_metric: Metric,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score: f64,
    score_unit: String,
}

/// The average time of each benchmark, by its method's name.
fn read(json: &str) -> Result<BTreeMap<String, f64>, String> {
    let all: Vec<Said> = serde_json::from_str(json)
        .map_err(|error| format!("what JMH says can't be read: {error}"))?;
    let times = all.into_iter().map(|Said { benchmark, mode, forks, primary_metric }| {
        let Metric { score, score_unit } = primary_metric;
        if (&*mode, forks, &*score_unit) != ("avgt", 1, "ns/op") || score <= 0.0 {
            return Err(format!(
                "JMH has no average time of one JVM for {benchmark}, but {score} {score_unit} \
                 ({mode}) of {forks}"
            ));
        }
        let work = benchmark.rsplit('.').next().unwrap_or_default();
        Ok((work.to_string(), score))
    });
    times.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As JMH 1.37 writes it, with fewer percentiles.
    const JSON: &str = r#"[
    {
        "jmhVersion" : "1.37",
        "benchmark" : "jmh.Records.decode",
        "mode" : "avgt",
        "threads" : 1,
        "forks" : 1,
        "jvm" : "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
        "jvmArgs" : [
            "-XX:ActiveProcessorCount=1"
        ],
        "warmupIterations" : 3,
        "warmupTime" : "1 s",
        "params" : {
            "contender" : "ThriftCodec binary",
            "records" : "records"
        },
        "primaryMetric" : {
            "score" : 241.68,
            "scoreError" : "NaN",
            "scoreConfidence" : [
                "NaN",
                "NaN"
            ],
            "scorePercentiles" : {
                "0.0" : 241.25,
                "100.0" : 242.11
            },
            "scoreUnit" : "ns/op",
            "rawData" : [
                [
                    242.11,
                    241.25
                ]
            ]
        },
        "secondaryMetrics" : {
        }
    }
]
"#;

    #[test]
    fn the_time_of_each_benchmark_is_read_by_its_method() {
        assert_eq!(read(JSON), Ok(BTreeMap::from([("decode".to_string(), 241.68)])));
    }

    #[test]
    fn what_is_no_average_time_of_one_jvm_is_refused() {
        for (right, wrong) in [
            ("\"avgt\"", "\"thrpt\""),
            ("ns/op", "us/op"),
            ("\"forks\" : 1", "\"forks\" : 3"),
            ("241.68", "0.0"),
        ] {
            let why = read(&JSON.replace(right, wrong)).unwrap_err();
            assert!(
                why.starts_with("JMH has no average time of one JVM for jmh.Records."),
                "{why}"
            );
        }
        let why = read(&JSON.replace("241.68", "\"NaN\"")).unwrap_err();
        assert!(why.starts_with("what JMH says can't be read: "), "{why}");
    }

    #[test]
    fn the_contenders_own_command_is_measured_with_jmhs_classes_first() {
        let words = "jdk/bin/java -XX:ActiveProcessorCount=1 -cp a:b/* ThriftCodec binary";
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        let jmh = Jmh::of(&words, Path::new("made")).unwrap();
        let command = jmh.command(Path::new("r"), Path::new("j")).join(" ");
        let begin = "jdk/bin/java -XX:ActiveProcessorCount=1 -cp made/classes:made/lib/*:a:b/* \
                     org.openjdk.jmh.Main -foe true -f 1 ";
        assert!(command.starts_with(begin), "{command}");
        assert!(command.ends_with("-p contender=ThriftCodec binary -p records=r"), "{command}");
        assert!(Jmh::of(&words[..2], Path::new("made")).is_none(), "it has no class path");
    }
}
