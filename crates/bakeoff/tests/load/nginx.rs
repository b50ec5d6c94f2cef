//! `bakeoff load` against a real nginx, where one is installed.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::free_address::free_address;
use crate::skipped::skipped;
use crate::support::{backends, load};
use tempfile::TempDir;

/// nginx in one process, which ends when dropped.
struct Nginx {
    process: Child,
    url: String,
    _folder: TempDir,
}

impl Nginx {
    /// `None`, with the reason printed, where there is no nginx.
    fn start() -> Option<Nginx> {
        let program = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"]
            .into_iter()
            .find(|program| Path::new(program).exists());
        let Some(program) = program else {
            skipped("skipped", "nginx is not installed");
            return None;
        };
        let folder = TempDir::new().unwrap();
        let address = free_address();
        let path = folder.path().display();
        let configuration = format!(
            "daemon off; master_process off; pid {path}/pid; error_log stderr;
             events {{ worker_connections 1024; }}
             http {{
                 access_log off;
                 client_body_temp_path {path}/a; proxy_temp_path {path}/b;
                 fastcgi_temp_path {path}/c; uwsgi_temp_path {path}/d; scgi_temp_path {path}/e;
                 server {{
                     listen {address};
                     location /hello {{ keepalive_requests 50; return 200 'hello $arg_id'; }}
                     location /all {{ keepalive_requests 1000000; return 200 'hello $arg_id'; }}
                     location /count {{ stub_status; }}
                 }}
             }}"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let process = Command::new(program)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Nginx { process, url: format!("http://{address}"), _folder: folder };
        let patience = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < patience, "nginx does not listen after a minute");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(nginx)
    }

    /// Requests that nginx counts, this question included.
    fn requests(&self) -> u64 {
        use std::io::{Read, Write};
        let address = self.url.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /count HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        // "server accepts handled requests", and below it three numbers.
        let (_, numbers) = answer.split_once("requests\n").unwrap();
        numbers.split_whitespace().nth(2).unwrap().parse().unwrap()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn every_answer_of_nginx_is_good_and_every_count_is_its_own() {
    let Some(nginx) = Nginx::start() else { return };
    for backend in backends() {
        for (path, more) in [
            ("/hello", &["-n", "3k"][..]),
            ("/hello", &["-n", "1k", "--close"]),
            ("/all", &["-n", "3k", "--pipeline", "8"]),
            // It ends a connection after 50 answers, and drops what is behind.
            ("/hello", &["-n", "3k", "--pipeline", "8"]),
            ("/hello", &["-d", "1s", "--warmup", "300ms", "--rate", "1k"]),
        ] {
            let url = format!("{}{path}?id={{nonce}}", nginx.url);
            let before = nginx.requests();
            let base = [&url, "-c", "20", "--expect-body", "hello {nonce}", "--backend", backend];
            let said = load(&[&base, more].concat());
            let counted = nginx.requests() - before - 1;
            let what = format!("{backend} {more:?}");
            said.assert_conserved(&what);
            assert_eq!(said.count("errors"), 0, "{what}: {}", said.json["errors"]);
            assert_eq!(said.count("good"), said.count("sent"), "{what}: {}", said.json);
            let resent = said.json["connections"]["resent"].as_u64().unwrap();
            let is_cut = path == "/hello" && more.contains(&"--pipeline");
            assert_eq!(resent > 0, is_cut, "{what}: {resent} sent again");
            let warmup = said.json["warmup_requests"]["sent"].as_u64().unwrap();
            assert_eq!(said.count("sent") + warmup, counted, "{what}: nginx counts otherwise");
        }
    }
}
