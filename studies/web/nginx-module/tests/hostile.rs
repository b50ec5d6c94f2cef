//! The module under AddressSanitizer and UndefinedBehaviorSanitizer, fed with
//! what a hostile client may send.
//!
//! nginx is Debian's, and not made with the sanitizers: their library is loaded
//! ahead of it, and watches over what the module does to memory that nginx
//! allocates. nginx takes small pieces out of larger ones, within which no bound
//! can be seen; with the smallest pool that it allows, what is longer than some
//! 200 bytes is a piece of its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::contract::http_client::{Answer, Connection, Wrong};
use lab::ready::programs;
use tempfile::TempDir;

use crate::fixture::{free_address, skipped};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/web/nginx-module");
const MODULE: &str = "ngx_http_hello_module.c";
const NEEDS: [(&str, &str); 4] = [
    ("nginx", "nginx"),
    ("gcc", "gcc"),
    ("make", "make"),
    ("/usr/share/nginx/src/configure", "nginx-dev"),
];
const SANITIZED: [&str; 5] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    // It would catch some overflows first, with less to say.
    "-U_FORTIFY_SOURCE",
    "-O1",
];
const WITHIN: Duration = Duration::from_secs(60);

/// The module in a folder of its own, made with the sanitizers.
struct Module {
    folder: TempDir,
    runtime: String,
}

impl Module {
    /// As it is. `None`, with what to install, where something is missing.
    fn new() -> Option<Module> {
        for (program, package) in NEEDS {
            if programs::find(program).is_none() {
                skipped(
                    "skipped",
                    &format!("{program} is not installed; apt-get install {package}"),
                );
                return None;
            }
        }
        let asked = Command::new("gcc").arg("-print-file-name=libasan.so").output().unwrap();
        let runtime = String::from_utf8(asked.stdout).unwrap().trim().to_string();
        if !Path::new(&runtime).is_file() {
            skipped("skipped", "gcc has no libasan; apt-get install libasan8");
            return None;
        }
        let module = Module { folder: TempDir::new().unwrap(), runtime };
        for name in ["compile", "config", MODULE] {
            fs::copy(Path::new(SOURCE).join(name), module.path(name)).unwrap();
        }
        module.compile();
        Some(module)
    }

    /// Compiles what has changed since it was last compiled.
    fn compile(&self) {
        // By bash: a copy may still be open in a child of another test, and then it
        // can't be run itself.
        let made = Command::new("bash")
            .arg(self.path("compile"))
            .arg(self.path("build"))
            .args(SANITIZED)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "the module can't be built: {}{}",
            String::from_utf8_lossy(&made.stdout),
            String::from_utf8_lossy(&made.stderr)
        );
    }

    /// With other words in its source.
    fn change(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(MODULE)).unwrap();
        assert!(text.contains(from), "the mistake can't be made any more");
        fs::write(self.path(MODULE), text.replace(from, to)).unwrap();
        self.compile();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn library(&self) -> PathBuf {
        self.path("build/ngx_http_hello_module.so")
    }

    fn nginx(&self, configuration: &Path) -> Command {
        let mut command = Command::new(programs::find("nginx").unwrap());
        command
            .args(["-e", "stderr", "-p"])
            .arg(self.folder.path())
            .arg("-c")
            .arg(configuration)
            .env("LD_PRELOAD", &self.runtime)
            // nginx doesn't free all of its own at its end.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .stdin(Stdio::null());
        command
    }

    /// A configuration with these lines within its server.
    fn configuration(&self, server: &str) -> PathBuf {
        let folder = self.folder.path().display();
        let library = self.library();
        let text = format!(
            "load_module {library:?};
             daemon off; master_process off; pid {folder}/pid; error_log stderr;
             events {{ worker_connections 64; }}
             http {{
                 access_log off;
                 client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
                 fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d;
                 scgi_temp_path {folder}/e;
                 # So that the module sees what nginx would refuse by itself.
                 large_client_header_buffers 4 512k;
                 request_pool_size 256;
                 server {{ {server} }}
             }}"
        );
        let path = self.path("nginx.conf");
        fs::write(&path, text).unwrap();
        path
    }
}

/// An nginx of one process with the module, which ends when dropped.
struct Nginx<'a> {
    module: &'a Module,
    process: Child,
    address: SocketAddr,
}

impl Nginx<'_> {
    fn start(module: &Module) -> Nginx<'_> {
        let address = free_address();
        let folder = module.folder.path().display();
        fs::create_dir_all(module.path("html")).unwrap();
        let page = "<!--# include virtual=\"/hello?id=one\" -->\
                    <!--# include virtual=\"/other?id=two\" -->\
                    <!--# include virtual=\"/hello\" -->";
        fs::write(module.path("html/page.html"), page).unwrap();
        let configuration = module.configuration(&format!(
            "listen {address};
             root {folder}/html;
             types {{ text/html html; }}
             location /hello {{
                 ngx_hello_module;
                 hello 1234;
                 location /hello/within {{ ngx_hello_module; }}
             }}
             location /other {{ ngx_hello_module; hello '<b>&'; }}
             location /silent {{ ngx_hello_module; }}
             location = /page.html {{ ssi on; }}
             location = /permits {{ set $args id=may; ngx_hello_module; }}
             location = /forbids {{ ngx_hello_module; }}
             location /guarded {{ auth_request /permits; ngx_hello_module; hello guarded; }}
             location /refused {{ auth_request /forbids; ngx_hello_module; hello refused; }}
             location /mirrored {{ mirror /hello; ngx_hello_module; hello mirrored; }}
             location /longer {{ add_after_body /permits; ngx_hello_module; hello longer; }}"
        ));
        let log = File::create(module.path("log")).unwrap();
        let process = module.nginx(&configuration).stderr(log).spawn().unwrap();
        let mut nginx = Nginx { module, process, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = nginx.process.try_wait().unwrap();
            assert!(ended.is_none() && began.elapsed() < WITHIN, "no nginx: {}", nginx.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        nginx
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.module.path("log")).unwrap()).into_owned()
    }

    fn open(&self) -> Connection {
        Connection::open(self.address, WITHIN).unwrap()
    }

    /// The answer to one request on a connection of its own.
    fn ask(&self, method: &str, path: &str, more: &str) -> Result<Answer, Wrong> {
        let mut connection = self.open();
        connection.send(&request(method, path, &format!("Connection: close\r\n{more}")))?;
        connection.receive(method == "HEAD")
    }

    fn get(&self, path: &str) -> Answer {
        let shown: String = path.chars().take(80).collect();
        self.ask("GET", path, "").unwrap_or_else(|why| panic!("{shown}: {why}\n{}", self.log()))
    }

    /// Asserts that the sanitizers had nothing to say.
    fn assert_sound(&mut self) {
        let log = self.log();
        let ended = self.process.try_wait().unwrap();
        assert!(ended.is_none(), "nginx ended with {ended:?}: {log}");
        for sign in ["Sanitizer", "runtime error", "[alert]", "[emerg]", "[crit]"] {
            assert!(!log.contains(sign), "nginx complains: {log}");
        }
    }
}

impl Drop for Nginx<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn request(method: &str, path: &str, more: &str) -> Vec<u8> {
    [method, " ", path, " HTTP/1.1\r\nHost: h\r\n", more, "\r\n"].concat().into_bytes()
}

/// The number in an answer that has to begin like this.
fn number_after(answer: &Answer, start: &str) -> String {
    assert_eq!(answer.status, 200);
    let body = String::from_utf8(answer.body.clone()).expect("the body is text");
    let number = body
        .strip_prefix("by bakeoff.\n")
        .and_then(|rest| rest.strip_prefix(start))
        .and_then(|rest| rest.strip_prefix(": "))
        .and_then(|rest| rest.strip_suffix('\n'))
        .unwrap_or_else(|| panic!("not {start:?}: {body:?}"));
    let is_number = number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_number, "{body:?}");
    number.into()
}

/// One test, since nginx takes ten seconds to be configured.
#[test]
fn hostile_requests_get_their_answers_and_touch_no_foreign_memory() {
    let Some(module) = Module::new() else { return };
    a_configuration_that_makes_no_sense_is_refused(&module);
    let mut nginx = Nginx::start(&module);
    let maps = fs::read_to_string(format!("/proc/{}/maps", nginx.process.id())).unwrap();
    for library in ["libasan", "libubsan", "ngx_http_hello_module"] {
        assert!(maps.contains(library), "{library} isn't in the server: nothing is watched");
    }
    ids(&nginx);
    uris(&nginx);
    methods_and_bodies(&nginx);
    connections_and_locations(&nginx);
    sub_requests(&nginx);
    nginx.assert_sound();
    drop(nginx);
    a_buffer_that_is_a_byte_too_short_is_noticed(&module);
}

fn ids(nginx: &Nginx) {
    let long = "a".repeat(100_000);
    let encoded = |letters: usize| "%61".repeat(letters);
    for query in [
        "",
        "?",
        "?id",
        "?id=",
        "?id=&id=1",
        "?xid=1",
        "?id=%00",
        "?id=ab%00cd",
        "?id=%3Cb%3E",
        "?id=<b>",
        "?id=%zz",
        "?id=a%",
        "?id=a%4",
        "?id=%&id=1",
        "?id=%2541",
        "?id=a+b",
        "?id=a%20b",
        &format!("?id={}", &long[..65]),
        &format!("?id={}", encoded(65)),
        &format!("?id={long}"),
        &format!("?id={}", encoded(100_000)),
        &format!("?{}", "&".repeat(100_000)),
    ] {
        let shown: String = query.chars().take(40).collect();
        assert_eq!(nginx.get(&format!("/hello{query}")).status, 400, "{shown}");
    }
    for (query, id) in [
        ("?id=42", "42"),
        ("?a=b&id=42&c=d", "42"),
        ("?id=first&id=second", "first"),
        ("?id=%41%62c", "Abc"),
        (&*format!("?id={}", &long[..64]), &long[..64]),
        (&*format!("?id={}", encoded(64)), &long[..64]),
        (&*format!("?{}", "id=7&".repeat(20_000)), "7"),
        (&*format!("?{long}&id=7"), "7"),
    ] {
        number_after(&nginx.get(&format!("/hello{query}")), &format!("1234 {id} at /hello"));
    }
    let mut connection = nginx.open();
    connection.send(b"GET /hello?id=\xff\xfe HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    assert_eq!(connection.receive(false).unwrap().status, 400, "bytes that are no ASCII");
}

fn uris(nginx: &Nginx) {
    let answer = nginx.get("/hello/%3Cscript%3E'%22&?id=1");
    number_after(&answer, "1234 1 at /hello/&lt;script&gt;'&quot;&amp;");
    let answer = nginx.get(&format!("/hello/{}?id=1", "%22".repeat(100_000)));
    number_after(&answer, &format!("1234 1 at /hello/{}", "&quot;".repeat(100_000)));
    for path in ["/hello/%00?id=1", "/hello/%zz?id=1", "/hello/../..?id=1"] {
        assert_eq!(nginx.get(path).status, 400, "{path}");
    }
    let answer = nginx.get("/hello/x/..//./%ff?id=1");
    assert!(answer.body.ends_with(b"\n") && answer.status == 200, "{answer:?}");
}

fn methods_and_bodies(nginx: &Nginx) {
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = nginx.ask(method, "/hello?id=1", "Content-Length: 0\r\n").unwrap();
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let mut connection = nginx.open();
    let body = "x".repeat(200_000);
    let length = format!("Content-Length: {}\r\n", body.len());
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for (method, more, body, status) in [
        ("POST", &*length, &*body, 405),
        ("GET", &*length, &*body, 200),
        ("POST", "Transfer-Encoding: chunked\r\n", &*chunked, 405),
        ("GET", "Transfer-Encoding: chunked\r\n", &*chunked, 200),
        ("GET", "", "", 200),
    ] {
        connection.send(&request(method, "/hello?id=1", more)).unwrap();
        connection.send(body.as_bytes()).unwrap();
        let answer = connection.receive(false).unwrap();
        assert_eq!(answer.status, status, "{method} with {more:?} after others: {answer:?}");
    }
    let (whole, head) = (nginx.get("/hello?id=1"), nginx.ask("HEAD", "/hello?id=1", "").unwrap());
    assert_eq!((head.status, head.body.len()), (200, 0));
    for header in ["content-length", "content-type", "cache-control"] {
        assert_eq!(whole.header(header), head.header(header), "{header}");
    }
    assert_eq!(whole.header("cache-control"), Some("no-cache"));
    assert_eq!(whole.header("content-type"), Some("text/html"));
    assert!(whole.header("date").is_some());
    assert_eq!(nginx.ask("HEAD", "/hello", "").unwrap().status, 400);
}

fn connections_and_locations(nginx: &Nginx) {
    let locations = [
        ("/hello?id=a", "1234 a at /hello"),
        ("/other?id=b", "&lt;b&gt;&amp; b at /other"),
        ("/hello/within?id=c", "1234 c at /hello/within"),
        ("/silent?id=d", "hello d at /silent"),
    ];
    // More than a worker has numbers in store, all on one connection: first each
    // after the other's answer, then all at once.
    let mut numbers = BTreeSet::new();
    let mut connection = nginx.open();
    for (path, start) in locations.iter().cycle().take(400) {
        connection.send(&request("GET", path, "")).unwrap();
        numbers.insert(number_after(&connection.receive(false).unwrap(), start));
    }
    let mut connection = nginx.open();
    let requests: Vec<u8> =
        locations.iter().cycle().take(400).flat_map(|(path, _)| request("GET", path, "")).collect();
    connection.send(&requests).unwrap();
    for (_, start) in locations.iter().cycle().take(400) {
        numbers.insert(number_after(&connection.receive(false).unwrap(), start));
    }
    assert_eq!(numbers.len(), 800, "a number came twice");
}

fn sub_requests(nginx: &Nginx) {
    let page = String::from_utf8(nginx.get("/page.html").body).unwrap();
    for part in ["1234 one at /hello: ", "&lt;b&gt;&amp; two at /other: ", "400 Bad Request"] {
        assert!(page.contains(part), "the page lacks {part:?}: {page}");
    }
    assert_eq!(nginx.ask("HEAD", "/page.html", "").unwrap().status, 200);
    number_after(&nginx.get("/guarded?id=1"), "guarded 1 at /guarded");
    // What auth_request makes of a sub-request that is refused with 400.
    assert_eq!(nginx.get("/refused?id=1").status, 500);
    for _ in 0..20 {
        number_after(&nginx.get("/mirrored?id=1"), "mirrored 1 at /mirrored");
    }
    let answer = nginx.ask("POST", "/mirrored?id=1", "Content-Length: 0\r\n").unwrap();
    assert_eq!(answer.status, 405);
    let longer = String::from_utf8(nginx.get("/longer?id=1").body).unwrap();
    for part in ["longer 1 at /longer: ", "hello may at /permits: "] {
        assert!(longer.contains(part), "the page lacks {part:?}: {longer}");
    }
}

fn a_buffer_that_is_a_byte_too_short_is_noticed(module: &Module) {
    module
        .change("ngx_create_temp_buf(r->pool, length)", "ngx_create_temp_buf(r->pool, length - 1)");
    let mut nginx = Nginx::start(module);
    let answer = nginx.ask("GET", &format!("/hello/{}?id=1", "x".repeat(1_000)), "");
    assert!(answer.is_err(), "it went on: {answer:?}");
    let began = Instant::now();
    while nginx.process.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < WITHIN, "nginx lives on: {}", nginx.log());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(nginx.log().contains("heap-buffer-overflow"), "{}", nginx.log());
}

fn a_configuration_that_makes_no_sense_is_refused(module: &Module) {
    for (server, complaint) in [
        ("location / { ngx_hello_module on; }", "invalid number of arguments"),
        ("location / { hello; }", "invalid number of arguments"),
        ("location / { hello a b; }", "invalid number of arguments"),
        ("location / { hello a; hello b; }", "is duplicate"),
        ("hello a;", "is not allowed here"),
        ("ngx_hello_module;", "is not allowed here"),
    ] {
        let configuration = module.configuration(server);
        let said = module.nginx(&configuration).arg("-t").output().unwrap();
        let log = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success() && log.contains(complaint), "{server}: {log}");
        assert!(!log.contains("Sanitizer"), "{server}: {log}");
    }
}
