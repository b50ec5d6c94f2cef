//! The server, asked over the network.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::batch::Batch;
use crate::engine;
use crate::options::Flags;

/// Serves an engine while `ask` asks it.
fn served(engine: &dyn Engine, threads: usize, ask: impl FnOnce(SocketAddr)) {
    let server = Server::listen(SocketAddr::from(([127, 0, 0, 1], 0)), threads).unwrap();
    let door = server.workers.iter().find_map(|worker| worker.door.as_ref()).unwrap();
    let address = door.listener.local_addr().unwrap();
    let stop = server.stop();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(engine, "test"));
        // Stopped also where the test fails: else it would wait for the server.
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ask(address)));
        stop.ask();
        assert_eq!(serving.join().unwrap(), Ok(()));
        if let Err(why) = stopped {
            std::panic::resume_unwind(why);
        }
    });
}

fn map() -> Box<dyn Engine> {
    engine::open("map", std::path::Path::new("."), &mut Flags::default()).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Reads as many bytes as are due, and compares them.
fn expect(stream: &mut TcpStream, due: &[u8]) {
    let mut came = vec![0; due.len()];
    stream.read_exact(&mut came).unwrap();
    assert_eq!(came.escape_ascii().to_string(), due.escape_ascii().to_string());
}

fn expect_end(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    // A server that closes with unread bytes may send a reset behind its answer.
    drop(stream.read_to_end(&mut rest));
    assert_eq!(rest.escape_ascii().to_string(), "");
}

const REDIS: (&[u8], &[u8]) = (
    b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\n\r\n1\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n\
      *3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\na\r\n\
      *2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$6\r\nDBSIZE\r\n*2\r\n$6\r\nEXISTS\r\n$1\r\na\r\n",
    b"+OK\r\n$3\r\n\r\n1\r\n*2\r\n$3\r\n\r\n1\r\n$-1\r\n:1\r\n$-1\r\n:0\r\n:0\r\n",
);

const MEMCACHED: (&[u8], &[u8]) = (
    b"set b 7 0 3\r\n\r\n1\r\nget b c\r\nset c 0 0 1 noreply\r\n2\r\ngets c\r\ndelete b\r\n\
      delete b\r\ndelete c noreply\r\nget b c\r\nnonsense\r\n",
    b"STORED\r\nVALUE b 7 3\r\n\r\n1\r\nEND\r\nVALUE c 0 1 450215437\r\n2\r\nEND\r\nDELETED\r\n\
      NOT_FOUND\r\nEND\r\nERROR\r\n",
);

#[test]
fn pipelines_of_both_protocols_are_answered_in_any_split() {
    let engine = map();
    served(&*engine, 1, |address| {
        for (asked, due) in [REDIS, MEMCACHED] {
            let mut whole = connect(address);
            whole.write_all(asked).unwrap();
            expect(&mut whole, due);
            let mut stream = connect(address);
            stream.set_nodelay(true).unwrap();
            for cut in 1..asked.len() {
                stream.write_all(&asked[..cut]).unwrap();
                stream.write_all(&asked[cut..]).unwrap();
                expect(&mut stream, due);
            }
            for byte in asked {
                stream.write_all(&[*byte]).unwrap();
            }
            expect(&mut stream, due);
        }
    });
}

#[test]
fn a_read_sees_the_writes_before_it_in_every_engine() {
    for name in engine::names().filter(|name| *name != "null") {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine::open(name, dir.path(), &mut Flags::default()).unwrap();
        served(&*engine, 1, |address| {
            let mut stream = connect(address);
            let (get, size) = ("*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "*1\r\n$6\r\nDBSIZE\r\n");
            let set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
            let (delete, clear) = ("*2\r\n$3\r\nDEL\r\n$1\r\na\r\n", "*1\r\n$8\r\nFLUSHALL\r\n");
            // Its size can't be told before what was written is committed, in the middle of a turn.
            for (asked, due) in [
                (vec![get, set, get, size, get], "$-1\r\n+OK\r\n$1\r\n1\r\n:1\r\n$1\r\n1\r\n"),
                (vec![get, delete, get, size, get], "$1\r\n1\r\n:1\r\n$-1\r\n:0\r\n$-1\r\n"),
                (vec![set, clear, get, set, get], "+OK\r\n+OK\r\n$-1\r\n+OK\r\n$1\r\n1\r\n"),
            ] {
                stream.write_all(asked.concat().as_bytes()).unwrap();
                expect(&mut stream, due.as_bytes());
            }
        });
        engine.close().unwrap();
    }
}

#[test]
fn what_breaks_the_protocol_is_told_and_ends_the_connection() {
    let engine = map();
    served(&*engine, 1, |address| {
        for (asked, due) in [
            (
                &b"*1\r\n$9999999999\r\n"[..],
                &b"-ERR Protocol error: a length has to be from 0 to 67108864, and is \
                   \"$9999999999\"\r\n"[..],
            ),
            (b"set a 0 0 99999999999\r\n", b"SERVER_ERROR object too large for cache\r\n"),
            (b"*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n", b"+OK\r\n"),
            (b"quit\r\nget a\r\n", b""),
        ] {
            let mut stream = connect(address);
            stream.write_all(asked).unwrap();
            expect(&mut stream, due);
            expect_end(&mut stream);
        }
    });
}

#[test]
fn who_sends_no_more_still_gets_the_answers() {
    let engine = map();
    served(&*engine, 1, |address| {
        let mut stream = connect(address);
        stream.write_all(REDIS.0).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        expect(&mut stream, REDIS.1);
        expect_end(&mut stream);
    });
}

#[test]
fn who_asks_for_much_and_reads_late_gets_all_of_it() {
    let engine = map();
    served(&*engine, 1, |address| {
        let mut stream = connect(address);
        let value = vec![b'x'; 1 << 20];
        let set = [&b"set a 0 0 1048576\r\n"[..], &value, b"\r\n"].concat();
        stream.write_all(&set).unwrap();
        expect(&mut stream, b"STORED\r\n");
        stream.write_all(&b"get a\r\n".repeat(50)).unwrap();
        let answer = [&b"VALUE a 0 1048576\r\n"[..], &value, b"\r\nEND\r\n"].concat();
        for _ in 0..50 {
            expect(&mut stream, &answer);
        }
    });
}

#[test]
fn a_value_is_gone_at_its_time_and_not_before() {
    let engine = map();
    served(&*engine, 1, |address| {
        let mut stream = connect(address);
        stream
            .write_all(b"*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\nPX\r\n$6\r\n300000\r\n")
            .unwrap();
        stream
            .write_all(b"*5\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n1\r\n$2\r\nPX\r\n$2\r\n20\r\n")
            .unwrap();
        expect(&mut stream, b"+OK\r\n+OK\r\n");
        std::thread::sleep(Duration::from_millis(50));
        stream
            .write_all(b"*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n")
            .unwrap();
        expect(&mut stream, b"*2\r\n$1\r\n1\r\n$-1\r\n:0\r\n");
    });
}

/// An engine whose commits wait for a word, which may be that they fail.
struct Waiting {
    words: Mutex<Receiver<Result<()>>>,
}

impl Engine for Waiting {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Session for &Waiting {
    fn get(&mut self, _key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        found(&[&crate::value::Head::default().bytes()[..], b"old"].concat());
        Ok(())
    }

    fn commit(&mut self, _batch: &Batch) -> Result<()> {
        self.words.lock().unwrap().recv().unwrap()
    }

    fn count(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn clear(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn no_write_is_acknowledged_before_its_commit_is_over() {
    let (say, words) = channel();
    let engine = Waiting { words: Mutex::new(words) };
    served(&engine, 1, |address| {
        let mut stream = connect(address);
        stream.write_all(b"set a 0 0 1\r\n1\r\nget a\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let early = stream.read(&mut [0; 1]);
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        say.send(Ok(())).unwrap();
        assert!(early.is_err(), "an answer came before the commit: {early:?}");
        expect(&mut stream, b"STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
    });
}

#[test]
fn a_commit_that_fails_takes_back_every_promise_and_no_other_answer() {
    let (say, words) = channel();
    let engine = Waiting { words: Mutex::new(words) };
    served(&engine, 1, |address| {
        let mut stream = connect(address);
        say.send(Err(Error::new("the disk\r\nis full"))).unwrap();
        let set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
        let asked = format!(
            "*1\r\n$4\r\nPING\r\n{set}*2\r\n$3\r\nGET\r\n$1\r\nb\r\n*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n"
        );
        stream.write_all(asked.as_bytes()).unwrap();
        let error = "-ERR the disk  is full\r\n";
        expect(&mut stream, format!("+PONG\r\n{error}$3\r\nold\r\n{error}").as_bytes());
        // It goes on.
        say.send(Ok(())).unwrap();
        stream.write_all(set.as_bytes()).unwrap();
        expect(&mut stream, b"+OK\r\n");
    });
}

#[test]
fn of_many_that_remove_a_key_one_is_told_that_it_did() {
    let engine = map();
    served(&*engine, 2, |address| {
        for _ in 0..50 {
            let mut streams: Vec<TcpStream> = (0..8).map(|_| connect(address)).collect();
            streams[0].write_all(b"set a 0 0 1\r\n1\r\n").unwrap();
            expect(&mut streams[0], b"STORED\r\n");
            streams.iter_mut().for_each(|stream| stream.write_all(b"delete a\r\n").unwrap());
            let removed = streams.iter_mut().filter_map(|stream| {
                let mut first = [0; 1];
                stream.read_exact(&mut first).unwrap();
                (first == *b"D").then_some(())
            });
            assert_eq!(removed.count(), 1);
        }
    });
}
