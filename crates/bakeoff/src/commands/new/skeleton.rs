//! What `bakeoff new` writes: one table of languages, and one of drivers.

/// What to start from in one language.
pub struct Skeleton {
    /// What `--language` calls it.
    pub option: &'static str,
    /// What its author would call it.
    pub language: &'static str,
    /// Lines of contender.toml.
    pub needs: &'static str,
    /// Likewise.
    pub build: &'static str,
    /// Likewise.
    pub run: &'static str,
    /// Likewise.
    pub versions: &'static str,
    /// Names and contents of its source files.
    pub files: &'static [(&'static str, &'static str)],
}

/// What drives a study's contenders, and the file of such a study.
pub const DRIVERS: [(&str, &str); 1] = [("generator", include_str!("skeletons/study.toml"))];

/// Languages whose standard library has an HTTP server, so that a skeleton starts
/// and answers at once.
pub const LANGUAGES: [Skeleton; 4] = [
    Skeleton {
        option: "go",
        language: "Go",
        needs: r#"needs = { go = "golang-go" }"#,
        build: r#"build = ["go", "build", "-buildvcs=false", "-o", "$BUILD/server", "."]"#,
        run: r#"run = ["$BUILD/server"]"#,
        versions: r#"versions = { go = ["go", "version"] }"#,
        files: &[
            ("main.go", include_str!("skeletons/main.go")),
            ("go.mod", include_str!("skeletons/go.mod")),
        ],
    },
    Skeleton {
        option: "java",
        language: "Java",
        needs: r#"needs = { javac = "default-jdk-headless" }"#,
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
        versions: r#"versions = { java = ["java", "--version"] }"#,
        files: &[("Server.java", include_str!("skeletons/Server.java"))],
    },
    Skeleton {
        option: "node",
        language: "JavaScript",
        needs: r#"needs = { node = "nodejs" }"#,
        build: r#"# build = ["npm", "ci"]"#,
        run: r#"run = ["node", "$SOURCE/server.js"]"#,
        versions: r#"versions = { node = ["node", "--version"] }"#,
        files: &[("server.js", include_str!("skeletons/server.js"))],
    },
    Skeleton {
        option: "python",
        language: "Python",
        needs: r#"needs = { python3 = "python3" }"#,
        build: r#"# build = ["make"]"#,
        run: r#"run = ["python3", "$SOURCE/server.py"]"#,
        versions: r#"versions = { python = ["python3", "--version"] }"#,
        files: &[("server.py", include_str!("skeletons/server.py"))],
    },
];

/// For all others, and for servers that need only configuration: no source, since
/// what it would be depends on the library.
pub const GENERAL: Skeleton = Skeleton {
    option: "",
    language: "FILL IN",
    needs: r#"# needs = { zig = "zig" }"#,
    build: r#"# build = ["zig", "build", "-Doptimize=ReleaseFast", "--prefix", "$BUILD"]"#,
    run: r#"run = ["FILL-IN", "--listen", "$HOST:$PORT"]"#,
    versions: r#"# versions = { zig = ["zig", "version"] }"#,
    files: &[],
};

const CONTENDER: &str = include_str!("skeletons/contender.toml");

impl Skeleton {
    /// Its files, filled in for a contender.
    pub fn files(&self, study: &str, name: &str, contract: &str) -> Vec<(&'static str, String)> {
        let fill = |text: &str| {
            text.replace("{study}", study).replace("{name}", name).replace("{contract}", contract)
        };
        let lines = [
            ("{language}", self.language),
            ("{needs}", self.needs),
            ("{build}", self.build),
            ("{run}", self.run),
            ("{versions}", self.versions),
        ];
        let contender = lines
            .into_iter()
            .fold(CONTENDER.to_string(), |text, (word, line)| text.replace(word, line));
        let sources = self.files.iter().map(|(file, text)| (*file, fill(text)));
        [("contender.toml", fill(&contender))].into_iter().chain(sources).collect()
    }
}
