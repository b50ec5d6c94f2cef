//! A TCP stream of which every wait ends in time: a server may say nothing, and it may take or
//! send a little at a time for ever.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use load::Stop;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use rustix::time::Timespec;

/// The longest wait before it is looked whether all is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A stream with the time in which all has to be over that happens on it.
#[derive(Debug)]
pub(super) struct InTime {
    stream: TcpStream,
    time: Time,
}

/// Why nothing came of it.
#[derive(Debug)]
pub(super) enum Missed {
    /// It was told to stop.
    Stopped,
    /// The time is over, which was this long.
    TooLate(Duration),
    /// The system says why.
    Failed(io::Error),
}

impl From<io::Error> for Missed {
    fn from(error: io::Error) -> Missed {
        Missed::Failed(error)
    }
}

impl From<Missed> for io::Error {
    fn from(missed: Missed) -> io::Error {
        match missed {
            Missed::Stopped | Missed::TooLate(_) => ErrorKind::TimedOut.into(),
            Missed::Failed(error) => error,
        }
    }
}

#[derive(Debug)]
struct Time {
    within: Duration,
    deadline: Instant,
    stop: Stop,
}

impl Time {
    /// The time for the next wait.
    fn left(&self) -> Result<Duration, Missed> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if self.stop.asked() {
            Err(Missed::Stopped)
        } else if left.is_zero() {
            Err(Missed::TooLate(self.within))
        } else {
            Ok(left.min(LOOK_EVERY))
        }
    }
}

impl InTime {
    /// Connects. All that happens on it has to be over `within` that time, and `stop` ends all
    /// waits at once.
    pub fn connect(address: SocketAddr, within: Duration, stop: &Stop) -> Result<InTime, Missed> {
        let time = Time { within, deadline: Instant::now() + within, stop: stop.clone() };
        let stream = connected(address, &time)?;
        Ok(InTime { stream, time })
    }

    /// All that comes from here on has the whole time again.
    pub fn begin_anew(&mut self) {
        self.time.deadline = Instant::now() + self.time.within;
    }

    /// The same for what has another time.
    pub fn begin_for(&mut self, within: Duration) {
        self.time.deadline = Instant::now() + within;
    }

    /// Ends it as one that broke: whatever is on its way is thrown away.
    pub fn reset(self) -> io::Result<()> {
        sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).map_err(Into::into)
    }

    /// Whether the other side ends it in its time. What comes is left where it is.
    pub fn breaks(&self) -> bool {
        // What breaks a stream is told unasked.
        let mut polled = [PollFd::new(&self.stream, PollFlags::RDHUP)];
        while let Ok(wait) = self.time.left() {
            let wait = Timespec::try_from(wait).expect("a wait is short");
            if matches!(poll(&mut polled, Some(&wait)), Ok(1..)) {
                return true;
            }
        }
        false
    }

    /// Sends all bytes.
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), Missed> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.time.left()?))?;
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_no_more_than_a_wait(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Receives what there is; 0 at the end.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<usize, Missed> {
        loop {
            self.stream.set_read_timeout(Some(self.time.left()?))?;
            match self.stream.read(room) {
                Ok(count) => return Ok(count),
                Err(error) if is_no_more_than_a_wait(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A wait that is over is [`ErrorKind::TimedOut`].
impl Read for InTime {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(room)?)
    }
}

fn is_no_more_than_a_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// A connection to this address, made in time.
fn connected(address: SocketAddr, time: &Time) -> Result<TcpStream, Missed> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(io::Error::from)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            let mut polled = [PollFd::new(&socket, PollFlags::OUT)];
            loop {
                let wait = Timespec::try_from(time.left()?).expect("a wait is short");
                match poll(&mut polled, Some(&wait)) {
                    Ok(0) | Err(Errno::INTR) => {}
                    Ok(_) => break,
                    Err(error) => return Err(io::Error::from(error).into()),
                }
            }
            let came = sockopt::socket_error(&socket).and_then(|came| came);
            came.map_err(io::Error::from)?;
        }
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(3600);

    /// A stream to somebody who takes nothing and says nothing.
    fn to_nobody(within: Duration, stop: &Stop) -> (InTime, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (InTime::connect(address, within, stop).unwrap(), listener)
    }

    /// Else a server that says nothing, or takes no more, would hold a check for ever.
    #[test]
    fn neither_sending_nor_receiving_goes_on_beyond_its_time() {
        let (mut stream, _listener) = to_nobody(SHORT, &Stop::default());
        assert!(matches!(stream.receive(&mut [0; 10]), Err(Missed::TooLate(SHORT))));
        stream.begin_anew();
        let more_than_there_is_room_for = vec![0; 64 << 20];
        let sent = stream.send(&more_than_there_is_room_for);
        assert!(matches!(sent, Err(Missed::TooLate(SHORT))), "{sent:?}");
    }

    /// Every write gets on then, and the whole would take many times as long.
    #[test]
    fn a_server_that_reads_a_little_at_a_time_is_not_sent_to_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Small ones fill at once, and have room again after a few reads.
        sockopt::set_socket_recv_buffer_size(&listener, 16 << 10).unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                while !is_over.load(Ordering::Relaxed) && stream.read(&mut [0; 4096]).unwrap() > 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let within = Duration::from_millis(200);
            let mut to_it = InTime::connect(address, within, &Stop::default()).unwrap();
            sockopt::set_socket_send_buffer_size(&to_it.stream, 16 << 10).unwrap();
            let sent = to_it.send(&vec![b'x'; 16 << 20]);
            is_over.store(true, Ordering::Relaxed);
            assert!(matches!(sent, Err(Missed::TooLate(_))), "{sent:?}");
        });
    }

    /// Else a server would be asked to cut somebody who reads again, whom it may forgive.
    #[test]
    fn a_stream_breaks_where_its_server_goes_though_nothing_was_read() {
        let (mut stream, listener) = to_nobody(LONG, &Stop::default());
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(b"unread").unwrap();
        stream.begin_for(SHORT);
        assert!(!stream.breaks(), "bytes came, and nothing else");
        drop(server);
        stream.begin_anew();
        assert!(stream.breaks());
        assert_eq!(stream.receive(&mut [0; 10]).unwrap(), 6);
    }

    #[test]
    fn a_stop_ends_a_wait_that_has_an_hour_left() {
        let stop = Stop::default();
        let (mut stream, _listener) = to_nobody(LONG, &stop);
        stop.now();
        assert!(matches!(stream.receive(&mut [0; 10]), Err(Missed::Stopped)));
        assert!(matches!(stream.send(b"x"), Err(Missed::Stopped)));
    }

    /// Else the second operation on a store would have only what the first left of its time.
    #[test]
    fn what_begins_anew_has_the_whole_time_again() {
        let (mut stream, listener) = to_nobody(LONG, &Stop::default());
        stream.time.deadline = Instant::now();
        assert!(matches!(stream.receive(&mut [0; 10]), Err(Missed::TooLate(LONG))));
        stream.begin_anew();
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(b"late").unwrap();
        assert_eq!(stream.receive(&mut [0; 10]).unwrap(), 4);
    }
}
