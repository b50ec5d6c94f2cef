//! What `bakeoff new` writes: one table of languages, and one of drivers.

use result::kind::Kind;

/// What to start from in one language.
pub struct Language {
    /// What `--language` calls it.
    pub option: &'static str,
    /// What its author would call it.
    pub name: &'static str,
    /// Lines of contender.toml.
    pub needs: &'static str,
    /// Likewise.
    versions: &'static str,
    /// A contender that serves.
    server: Source,
    /// A contender that drives itself.
    program: Source,
    /// A gateway of rooms.
    gateway: Source,
    /// A store, where there is one.
    store: Option<Source>,
}

/// A contender's source, and what contender.toml has to say of it.
struct Source {
    /// Lines of contender.toml.
    build: &'static str,
    /// Likewise.
    run: &'static str,
    /// Names and contents.
    files: &'static [(&'static str, &'static str)],
}

/// What drives a study's contenders, and the file of such a study.
pub const DRIVERS: [(&str, &str); 4] = [
    ("generator", include_str!("skeletons/study-of-generator.toml")),
    ("keys", include_str!("skeletons/study-of-keys.toml")),
    ("rooms", include_str!("skeletons/study-of-rooms.toml")),
    ("program", include_str!("skeletons/study-of-program.toml")),
];

/// A study that runs as it is, with the servers below.
pub const TO_START_FROM: &str = include_str!("skeletons/study-to-start-from.toml");

const GO: &str = r#"build = ["go", "build", "-buildvcs=false", "-o", "$BUILD/contender", "."]"#;
const NO_BUILD: &str = r#"# build = ["make"]"#;

/// A study's file, filled in: its title, and how a command is told of it.
pub fn study(text: &str, title: &str, typed: &str) -> String {
    text.replace("{title}", title).replace("{study}", typed)
}

/// Languages whose standard library has an HTTP server, so that a skeleton starts
/// and answers at once.
pub const LANGUAGES: [Language; 4] = [
    Language {
        option: "go",
        name: "Go",
        needs: r#"needs = { go = "golang-go" }"#,
        versions: r#"versions = { go = ["go", "version"] }"#,
        server: Source {
            build: GO,
            run: r#"run = ["$BUILD/contender"]"#,
            files: &[
                ("main.go", include_str!("skeletons/server/main.go")),
                ("go.mod", include_str!("skeletons/go.mod")),
            ],
        },
        program: Source {
            build: GO,
            run: r#"run = ["$BUILD/contender"]"#,
            files: &[
                ("main.go", include_str!("skeletons/program/main.go")),
                ("go.mod", include_str!("skeletons/go.mod")),
            ],
        },
        gateway: Source {
            build: GO,
            run: r#"run = ["$BUILD/contender"]"#,
            files: &[
                ("main.go", include_str!("skeletons/gateway/main.go")),
                ("go.mod", include_str!("skeletons/go.mod")),
            ],
        },
        store: None,
    },
    Language {
        option: "java",
        name: "Java",
        needs: r#"needs = { javac = "default-jdk-headless" }"#,
        versions: r#"versions = { java = ["java", "--version"] }"#,
        server: Source {
            build: r#"build = ["javac", "-d", "$BUILD", "Server.java"]"#,
            run: r#"run = [
    "java",
    # Until JDK 23 the server sends the head and the body apart, and the body would wait
    # for the head's acknowledgement, 40 ms on Linux.
    "-Dsun.net.httpserver.nodelay=true",
    # Of more idle connections than this it closes each after its answer; by default 200.
    "-Dsun.net.httpserver.maxIdleConnections=16384",
    "-cp", "$BUILD", "Server",
]"#,
            files: &[("Server.java", include_str!("skeletons/server/Server.java"))],
        },
        program: Source {
            build: r#"build = ["javac", "-d", "$BUILD", "Program.java"]"#,
            run: r#"run = ["java", "-cp", "$BUILD", "Program"]"#,
            files: &[("Program.java", include_str!("skeletons/program/Program.java"))],
        },
        gateway: Source {
            build: r#"build = ["javac", "-d", "$BUILD", "Gateway.java"]"#,
            run: r#"run = ["java", "-cp", "$BUILD", "Gateway"]"#,
            files: &[("Gateway.java", include_str!("skeletons/gateway/Gateway.java"))],
        },
        store: None,
    },
    Language {
        option: "node",
        name: "JavaScript",
        needs: r#"needs = { node = "nodejs" }"#,
        versions: r#"versions = { node = ["node", "--version"] }"#,
        server: Source {
            build: r#"# build = ["npm", "ci"]"#,
            run: r#"run = ["node", "$SOURCE/server.js"]"#,
            files: &[("server.js", include_str!("skeletons/server/server.js"))],
        },
        program: Source {
            build: r#"# build = ["npm", "ci"]"#,
            run: r#"run = ["node", "$SOURCE/program.js"]"#,
            files: &[("program.js", include_str!("skeletons/program/program.js"))],
        },
        gateway: Source {
            build: r#"# build = ["npm", "ci"]"#,
            run: r#"run = ["node", "$SOURCE/gateway.js"]"#,
            files: &[("gateway.js", include_str!("skeletons/gateway/gateway.js"))],
        },
        store: None,
    },
    Language {
        option: "python",
        name: "Python",
        needs: r#"needs = { python3 = "python3" }"#,
        versions: r#"versions = { python = ["python3", "--version"] }"#,
        server: Source {
            build: NO_BUILD,
            run: r#"run = ["python3", "$SOURCE/server.py"]"#,
            files: &[("server.py", include_str!("skeletons/server/server.py"))],
        },
        program: Source {
            build: NO_BUILD,
            run: r#"run = ["python3", "$SOURCE/program.py"]"#,
            files: &[("program.py", include_str!("skeletons/program/program.py"))],
        },
        gateway: Source {
            build: NO_BUILD,
            run: r#"run = ["python3", "$SOURCE/gateway.py"]"#,
            files: &[("gateway.py", include_str!("skeletons/gateway/gateway.py"))],
        },
        store: Some(Source {
            build: NO_BUILD,
            run: r#"run = ["python3", "$SOURCE/store.py", "$DIR"]"#,
            files: &[("store.py", include_str!("skeletons/store/store.py"))],
        }),
    },
];

const ZIG: &str = r#"# build = ["zig", "build", "-Doptimize=ReleaseFast", "--prefix", "$BUILD"]"#;
/// Whoever serves, in a language of which nothing is known.
const LISTENS: Source =
    Source { build: ZIG, run: r#"run = ["FILL-IN", "--listen", "$HOST:$PORT"]"#, files: &[] };

/// For all others, and for servers that need only configuration: no source, since
/// what it would be depends on the library.
pub const GENERAL: Language = Language {
    option: "",
    name: "FILL IN",
    needs: r#"# needs = { zig = "zig" }"#,
    versions: r#"# versions = { zig = ["zig", "version"] }"#,
    server: LISTENS,
    program: Source { build: ZIG, run: r#"run = ["FILL-IN"]"#, files: &[] },
    gateway: LISTENS,
    store: Some(LISTENS),
};

/// What the command does that starts a contender, as contender.toml explains it.
const SERVES: &str = "\
# The command that starts it. It stays in the foreground, listens on $PORT of $HOST with
# $CORES processors, which are also in its environment, and ends on SIGTERM.";
const WORKS: &str = "\
# The command that starts it. The study's parameters, a seed and seconds come behind it. It
# works with $CORES processors, prints lines of JSON, and ends with 0.";

/// What the load generator speaks with a store.
const SPEAKS: &str = "speaks = \"redis\"";
/// The same where nobody needs it.
const SPEAKS_NOT: &str = "# speaks = \"redis\"";

/// What a contender is called, and where.
pub struct Words<'a> {
    /// Its study's name.
    pub study: &'a str,
    /// Its own.
    pub name: &'a str,
    /// How a command is told of it.
    pub typed: &'a str,
    /// What it has to do.
    pub contract: &'a str,
}

const CONTENDER: &str = include_str!("skeletons/contender.toml");

impl Language {
    /// Whether there is a skeleton of a store in it.
    pub fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// The files of a contender of this kind, filled in. `None` where there is no store in this
    /// language.
    pub fn files(&self, kind: Kind, words: &Words) -> Option<Vec<(&'static str, String)>> {
        let fill = |text: &str| {
            text.replace("{study}", words.study)
                .replace("{name}", words.name)
                .replace("{typed}", words.typed)
                .replace("{contract}", words.contract)
        };
        let (source, says, speaks) = match kind {
            Kind::Http => (&self.server, SERVES, SPEAKS_NOT),
            Kind::Keys => (self.store.as_ref()?, SERVES, SPEAKS),
            Kind::Program => (&self.program, WORKS, SPEAKS_NOT),
            Kind::Rooms => (&self.gateway, SERVES, SPEAKS_NOT),
        };
        let lines = [
            ("{language}", self.name),
            ("{needs}", self.needs),
            ("{build}", source.build),
            ("{run}", &format!("{says}\n{}", source.run)),
            ("{speaks}", speaks),
            ("{versions}", self.versions),
        ];
        let contender = lines
            .into_iter()
            .fold(CONTENDER.to_string(), |text, (word, line)| text.replace(word, line));
        let sources = source.files.iter().map(|(file, text)| (*file, fill(text)));
        Some([("contender.toml", fill(&contender))].into_iter().chain(sources).collect())
    }
}
