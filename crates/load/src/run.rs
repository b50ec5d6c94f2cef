//! A run: its threads, their common start, and what they saw, put together.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use histogram::Histogram;

use crate::backend::epoll::Epoll;
use crate::backend::ring::Ring;
use crate::backend::uring::Uring;
use crate::backend::{Backend, Setup, StampedSlots};
use crate::interrupts::seconds_apart;
use crate::jobs::{Asking, Job, Speaking, Task, ThreadLoop};
use crate::outcome::Second;
use crate::outcome::record::{Record, SecondOfThread};
use crate::outcome::samples::Samples;
use crate::pace::clock::Clock;
use crate::pace::queue::Queue;
use crate::pace::window::Window;
use crate::plan::rooms::Wire;
use crate::plan::{Arrivals, BackendChoice, Plan, Rooms, Until, Workload};
use crate::protocol::Protocol;
use crate::protocol::http1::Http1;
use crate::protocol::pushing::Pushing;
use crate::protocol::pushing::frames::FramesWire;
use crate::protocol::pushing::mqtt::MqttWire;
use crate::protocol::pushing::nats::NatsWire;
use crate::protocol::pushing::resp::RespWire;
use crate::protocol::store::Store;
use crate::thread::connects;
use crate::work::keys::Writers;
use crate::work::pages::Pages;
use crate::{Error, Moment, News, Outcome, Progress, Stop, limits};

/// Between the last thread's readiness and the common start: time for all to wake up.
pub const START_AHEAD: Duration = Duration::from_millis(2);
/// How often is told how many connections were made ahead.
const TOLD_EVERY_NS: u64 = 100_000_000;

/// Runs a plan to its end or until stopped, and tells how it goes on.
///
/// # Errors
/// [`Error`] if no load could be offered at all.
pub fn run(plan: &Plan, stop: &Stop, tell: &mut dyn FnMut(&News)) -> Result<Outcome, Error> {
    run_from(plan, stop, || Some(Moment::now().after(START_AHEAD)), tell)
}

/// The same, from a moment on that is asked for once all is ready for it; never, where there is
/// none.
pub(crate) fn run_from(
    plan: &Plan,
    stop: &Stop,
    at: impl FnOnce() -> Option<Moment>,
    tell: &mut dyn FnMut(&News),
) -> Result<Outcome, Error> {
    plan.check()?;
    let plan = &plan.with_environment().map_err(Error::Plan)?;
    // Once: a large body is in memory once.
    match &plan.work {
        Workload::Http(http) => {
            run_as(&Http1::new(plan, http, Pages::new(plan, http)), (plan, stop), at, tell)
        }
        Workload::Keys(keys) => run_as(&Store::new(plan, keys), (plan, stop), at, tell),
        Workload::Rooms(rooms) => {
            let (rooms, of, seed) = (*rooms, (plan, stop), plan.seed);
            match rooms.wire {
                Wire::Frames => speak_by(FramesWire, rooms, of, at, tell),
                Wire::Mqtt { qos } => speak_by(MqttWire::new(seed, qos), rooms, of, at, tell),
                Wire::Nats => speak_by(NatsWire::new(seed), rooms, of, at, tell),
                Wire::Resp => speak_by(RespWire::new(seed), rooms, of, at, tell),
            }
        }
    }
}

/// Runs a plan of robots by a wire.
fn speak_by(
    wire: impl Pushing + Copy,
    rooms: Rooms,
    (plan, stop): (&Plan, &Stop),
    at: impl FnOnce() -> Option<Moment>,
    tell: &mut dyn FnMut(&News),
) -> Result<Outcome, Error> {
    let crew = Crew::of(plan)?;
    let job = Speaking::new((plan, rooms), wire, crew.threads);
    carry_out(&job, crew, (plan, stop), at, tell)
}

/// Runs a plan of requests by a protocol: what [`run`] does once it knows which.
pub(crate) fn run_as<P: Protocol>(
    protocol: &P,
    (plan, stop): (&Plan, &Stop),
    at: impl FnOnce() -> Option<Moment>,
    tell: &mut dyn FnMut(&News),
) -> Result<Outcome, Error> {
    let crew = Crew::of(plan)?;
    let queue = Queue::new(plan, crew.threads)
        .map_err(|source| Error::System { what: "making the threads' queue".into(), source })?;
    carry_out(&Asking { plan, protocol, queue }, crew, (plan, stop), at, tell)
}

/// Has a crew carry a plan out.
fn carry_out(
    job: &impl Job,
    crew: Crew,
    (plan, stop): (&Plan, &Stop),
    at: impl FnOnce() -> Option<Moment>,
    tell: &mut dyn FnMut(&News),
) -> Result<Outcome, Error> {
    limits::allow_connections(plan.connections, crew.threads)?;
    let clock = Clock::start();
    // What is told and put together meanwhile is none of the server's processors'.
    let _here = limits::Elsewhere::move_to(&plan.cpus);
    std::thread::scope(|scope| {
        let (seconds_to, seconds) = mpsc::channel();
        let (ready_to, ready) = mpsc::channel();
        let (threads, starts): (Vec<_>, Vec<_>) = (0..crew.threads)
            .map(|thread| {
                let (start_to, start) = mpsc::channel();
                let cpu = crew.cpus[thread % crew.cpus.len()];
                let threads = crew.threads;
                let task = Task { plan, stop, clock, thread, threads, cpu };
                let (ready_to, seconds_to) = (ready_to.clone(), seconds_to.clone());
                let name = format!("load-{thread}");
                let handle = std::thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || task.work(job, ready_to, &start, seconds_to))
                    .map_err(|source| Error::System { what: "starting a thread".into(), source });
                (handle, start_to)
            })
            .unzip();
        drop((ready_to, seconds_to));
        let at = if all_ready(&ready, crew.threads, tell) { at() } else { None };
        let window = plan.window(at.map_or(clock.now(), |at| clock.of(at).max(clock.now())));
        for start_to in starts.iter().filter(|_| at.is_some()) {
            let _ = start_to.send(window);
        }
        drop(starts);
        let collected = Collected::collect(&seconds, crew.threads, window, clock, tell);
        let told = threads.into_iter().map(|thread| {
            thread.and_then(|it| it.join().expect("a thread of load does not panic"))
        });
        // Those that ran nothing tell nothing: the error is that of the one that failed.
        let parts: Vec<Option<Outcome>> = told.collect::<Result<_, Error>>()?;
        let began = clock.moment(window.begin);
        Ok(put_together(plan, stop, (began, parts.into_iter().flatten()), collected))
    })
}

impl Plan {
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::Plan(what.into()));
        if self.connections == 0 {
            return wrong("a run needs at least one connection");
        }
        match &self.work {
            Workload::Http(http) => http.check().map_err(Error::Plan)?,
            Workload::Keys(keys) => keys.check().map_err(Error::Plan)?,
            Workload::Rooms(rooms) => rooms.check(self).map_err(Error::Plan)?,
        }
        if self.pipeline == 0 {
            return wrong("at least one request is under way on a connection");
        }
        if self.pipeline > 1 && !self.keep_alive {
            return wrong("requests can be pipelined only on connections that are kept");
        }
        if let Some(rate) = self.arrivals.rate()
            && !(rate > 0.0 && rate.is_finite())
        {
            return wrong("an open loop needs a rate above 0");
        }
        self.share.check().map_err(Error::Plan)?;
        if self.timeout.is_zero() {
            return wrong("no answer comes within a timeout of 0");
        }
        Ok(())
    }

    /// The longest that a run takes whatever the server does, on a machine that has time
    /// for it; `None` where answers decide when it ends.
    pub fn longest(&self) -> Option<Duration> {
        let Until::Elapsed(window) = self.until else { return None };
        // The last answers are awaited no longer than any.
        let parts = [self.connects_within(), self.warmup, window, self.timeout];
        Some(parts.into_iter().fold(Duration::ZERO, Duration::saturating_add))
    }

    /// The longest that it takes to make the connections that are kept, before the start.
    pub fn connects_within(&self) -> Duration {
        if self.keep_alive {
            connects::longest(self.connections, self.timeout)
        } else {
            Duration::ZERO
        }
    }

    /// Who writes to a store at once, wherever it is carried out.
    pub(crate) fn writers(&self) -> Writers {
        let is_one = self.connections == 1 || self.threads == 1;
        if self.share.hosts > 1 {
            Writers::Hosts
        } else if is_one || self.threads == 0 && self.cpus.len() == 1 {
            Writers::OneThread
        } else {
            Writers::Threads
        }
    }

    /// How many threads carry it out where these processors are allowed.
    pub fn threads_of(&self, allowed: &[usize]) -> usize {
        let cpus = if self.cpus.is_empty() { allowed.len() } else { self.cpus.len() };
        let threads = if self.threads == 0 { cpus } else { self.threads };
        // A thread without a connection has nothing to do.
        match self.rooms() {
            Some(rooms) => rooms.threads(self.connections, threads),
            None => threads.min(self.connections as usize).max(1),
        }
    }

    /// The borders of a run that starts at this time.
    pub(crate) fn window(&self, start: u64) -> Window {
        let begin = start + self.warmup.as_nanos() as u64;
        let end = match self.until {
            Until::Elapsed(time) => begin + time.as_nanos() as u64,
            Until::Requests(_) => u64::MAX,
        };
        Window { start, begin, end }
    }
}

/// Who carries a plan out.
struct Crew {
    threads: usize,
    cpus: Vec<usize>,
}

impl Crew {
    fn of(plan: &Plan) -> Result<Crew, Error> {
        let allowed = limits::allowed_cpus()
            .map_err(|source| Error::System { what: "asking for the processors".into(), source })?;
        let threads = plan.threads_of(&allowed);
        let cpus = if plan.cpus.is_empty() { allowed } else { plan.cpus.clone() };
        Ok(Crew { threads, cpus })
    }
}

/// What a thread tells before the common start.
struct Connected {
    thread: usize,
    /// Its connections that are open.
    open: u32,
    /// Whether it has made all that it can.
    is_ready: bool,
}

/// Hears the threads until each is ready, and tells of their connections meanwhile;
/// whether all are. A thread that is ready lets go; one that fails lets go without that.
fn all_ready(from: &Receiver<Connected>, threads: usize, tell: &mut dyn FnMut(&News)) -> bool {
    let mut open = vec![0; threads];
    let mut ready = 0;
    for ahead in from {
        open[ahead.thread] = ahead.open;
        if ahead.is_ready {
            ready += 1;
        } else {
            tell(&News::Connecting(open.iter().sum()));
        }
    }
    ready == threads
}

impl Task<'_> {
    /// A thread's whole life; `None` if another thread failed, so that nothing was run.
    fn work(
        &self,
        job: &impl Job,
        ready: Sender<Connected>,
        start: &Receiver<Window>,
        seconds: Sender<SecondOfThread>,
    ) -> Result<Option<Outcome>, Error> {
        limits::bind(self.cpu)?;
        limits::wake_on_time();
        let slots = job.slots(self.thread, self.threads);
        let mut record = job.record(self.thread, slots, seconds);
        record.usage.cpu = Some(self.cpu);
        // Whether they are, is found now rather than within the window.
        let _ = seconds_apart(&[]);
        let setup = job.setup(self.clock, (self.thread, self.threads), slots);
        let epoll = |setup, name: String, record, ready| {
            let backend = Epoll::new(setup)
                .map_err(|source| Error::System { what: "setting epoll up".into(), source })?;
            self.run(job, backend, (name, slots, record), ready, start)
        };
        if self.plan.backend == BackendChoice::Epoll {
            return epoll(setup, "epoll".into(), record, ready);
        }
        let mut ring = None;
        let uring =
            Ring::new(setup.slots).and_then(|new| Uring::new(ring.insert(new), setup.clone()));
        match uring {
            Ok(backend) => self.run(job, backend, (URING.into(), slots, record), ready, start),
            Err(error) if self.plan.backend == BackendChoice::Auto => {
                epoll(setup, in_place_of_uring(&error), record, ready)
            }
            Err(source) => Err(Error::System {
                what: "setting io_uring up (`--backend epoll` does without)".into(),
                source,
            }),
        }
    }

    fn run<B: Backend>(
        &self,
        job: &impl Job,
        backend: B,
        (name, slots, mut record): (String, u32, Record),
        ready: Sender<Connected>,
        start: &Receiver<Window>,
    ) -> Result<Option<Outcome>, Error> {
        let lost = |source| Error::System { what: "waiting for the network".into(), source };
        record.usage.backend = name;
        let mut thread = job.of_thread(self, slots, backend, record);
        let tell = |open, is_ready| {
            let _ = ready.send(Connected { thread: self.thread, open, is_ready });
        };
        let mut next_told = self.clock.now() + TOLD_EVERY_NS;
        while let Some(until) = thread.sleeps_until() {
            thread.turn_over(until).map_err(lost)?;
            if self.clock.now() >= next_told {
                tell(thread.open(), false);
                next_told = self.clock.now() + TOLD_EVERY_NS;
            }
        }
        tell(thread.open(), true);
        drop(ready);
        // No word comes if another thread failed.
        let Ok(window) = start.recv() else { return Ok(None) };
        thread.start(window);
        while let Some(until) = thread.sleeps_until() {
            thread.turn_over(until).map_err(lost)?;
        }
        Ok(Some(thread.finish()))
    }
}

/// The threads' seconds, added up.
struct Collected {
    seconds: BTreeMap<i64, Sum>,
    service: Histogram<u64>,
    samples: Samples,
}

/// One second of all threads.
struct Sum {
    second: Second,
    open_max: u32,
    /// Until all threads are past it: those of a day would take gigabytes.
    service: Option<Histogram<u64>>,
}

impl Collected {
    /// Takes seconds from the threads until the last is done, and tells of each
    /// when all threads are past it.
    fn collect(
        from: &Receiver<SecondOfThread>,
        threads: usize,
        window: Window,
        clock: Clock,
        tell: &mut dyn FnMut(&News),
    ) -> Collected {
        let (seconds, service, samples) = (BTreeMap::new(), histogram::empty(), Samples::default());
        let mut all = Collected { seconds, service, samples };
        let mut past = vec![i64::MIN; threads];
        let (mut told, mut errors) = (i64::MIN, 0);
        while let Ok(second) = from.recv() {
            past[second.thread] = second.number;
            all.add(second);
            let done = past.iter().copied().min().unwrap_or(i64::MIN);
            if done <= told {
                continue;
            }
            for (&number, sum) in all.seconds.range_mut(told.saturating_add(1)..=done) {
                sum.service = None;
                let second = sum.second;
                errors += second.errors;
                tell(&News::Second(Progress {
                    elapsed_s: clock.now().saturating_sub(window.start) as f64 / 1e9,
                    warming_up: number < 0,
                    second,
                    errors,
                }));
            }
            told = done;
        }
        all
    }

    /// The seconds of a window of this length.
    fn within(&self, window: Duration) -> Vec<Second> {
        let mut seconds = vec![Second::default(); window.as_secs_f64().ceil() as usize];
        for (number, sum) in self.seconds.range(0..) {
            if let Some(second) = seconds.get_mut(*number as usize) {
                *second = sum.second;
            }
        }
        seconds
    }

    /// The most connections that were open at once. Threads share nothing, so one
    /// moment can't be told from another within the same second.
    fn open_max(&self) -> u32 {
        self.seconds.values().map(|sum| sum.open_max).max().unwrap_or_default()
    }

    fn add(&mut self, new: SecondOfThread) {
        self.service += &new.service;
        if new.number == SecondOfThread::BEFORE || new.number == SecondOfThread::DRAIN {
            return;
        }
        self.samples.offer(new.samples);
        let sum = self.seconds.entry(new.number).or_insert_with(|| Sum {
            second: Second::default(),
            open_max: 0,
            service: Some(histogram::empty()),
        });
        sum.open_max += new.open_max;
        let second = &mut sum.second;
        second.said = match (second.said, new.said) {
            (Some(before), Some(more)) => Some(before.merge(more)),
            (one, other) => one.or(other),
        };
        second.good += new.good;
        second.errors += new.errors;
        second.bytes += new.bytes;
        let Some(service) = &mut sum.service else { return };
        *service += &new.service;
        if !service.is_empty() {
            second.p50 = Some(service.value_at_quantile(0.5));
            second.p99 = Some(service.value_at_quantile(0.99));
        }
    }
}

/// All that is told of the run: what its threads saw, and what was collected of their seconds.
fn put_together(
    plan: &Plan,
    stop: &Stop,
    (began, parts): (Moment, impl Iterator<Item = Outcome>),
    collected: Collected,
) -> Outcome {
    let mut all = parts.fold(Outcome::nothing(began), Outcome::merge);
    all.seconds = collected.within(all.window);
    all.answers_in_window = all.seconds.iter().map(|second| second.good).sum();
    all.bytes_received = all.seconds.iter().map(|second| second.bytes).sum();
    all.connections.established = collected.open_max();
    all.service.good = collected.service;
    all.sampled_answers = collected.samples.with_texts(plan);
    all.interrupted = stop.asked();
    if plan.arrivals == Arrivals::Closed && plan.keep_alive || plan.rooms().is_some() {
        // A request is due when it can be sent, and a delivery when its message is: both times
        // are the same.
        all.response = all.service.clone();
        for seen in &mut all.classes {
            seen.response = seen.service.clone();
        }
    }
    all
}

/// The same of parts and seconds that somebody made one after the other.
#[cfg(any(test, feature = "simulator"))]
pub(crate) fn put_together_of(
    plan: &Plan,
    (parts, seconds): (Vec<Outcome>, Vec<SecondOfThread>),
    window: Window,
) -> Outcome {
    let (to, from) = mpsc::channel();
    let threads = parts.len();
    seconds.into_iter().for_each(|second| to.send(second).expect("the other end is here"));
    drop(to);
    let clock = Clock::start();
    let collected = Collected::collect(&from, threads, window, clock, &mut |_| {});
    put_together(plan, &Stop::default(), (clock.moment(window.begin), parts.into_iter()), collected)
}

/// How a backend is called in an outcome.
const URING: &str = "io_uring";

fn in_place_of_uring(error: &io::Error) -> String {
    format!("epoll ({URING}: {error})")
}

/// The backend that a run would have here if it may choose: as [`Outcome::backend`] calls
/// it, with the reason if it is not io_uring.
pub fn chosen_backend() -> String {
    let setup = Setup {
        clock: Clock::start(),
        address: (Ipv4Addr::LOCALHOST, 0).into(),
        slots: 1,
        one_shot: false,
        overlapping: false,
        request_bytes_max: 0,
        stamps: StampedSlots::NONE,
        paused: [].into(),
        wake: None,
    };
    let made = Ring::new(setup.slots).and_then(|mut ring| Uring::new(&mut ring, setup).map(drop));
    made.map_or_else(|error| in_place_of_uring(&error), |()| URING.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;
    use crate::outcome::AnswerKind;
    use crate::outcome::record::Times;
    use crate::pace::window::Phase;
    use crate::plan::Target;
    use crate::plan::template::Request;

    const WINDOW: Window = Window { start: 0, begin: 0, end: u64::MAX };

    /// A server with a thread a connection, which answers each request that has no body.
    fn answering() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut head = [0; 1024];
                    // One that isn't pipelined is short enough to come whole.
                    while socket.read(&mut head).is_ok_and(|length| length > 0) {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                        if socket.write_all(answer).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        address
    }

    #[test]
    fn the_backend_that_is_foretold_is_the_one_that_a_run_takes() {
        let target = Target { address: answering(), authority: "x".into(), path: "/".into() };
        let plan = Plan {
            threads: 1,
            until: Until::Requests(10),
            ..Plan::new(target, vec![Request::get("/")])
        };
        let seen = run(&plan, &Stop::default(), &mut |_| {}).unwrap();
        assert_eq!(chosen_backend(), seen.backend);
    }

    #[test]
    fn a_run_has_time_for_each_of_its_parts() {
        let second = Duration::from_secs(1);
        let address = "127.0.0.1:1".parse().unwrap();
        let target = Target { address, authority: String::new(), path: String::new() };
        let closed = Plan {
            until: Until::Elapsed(second * 10),
            warmup: second * 2,
            timeout: second * 5,
            connections: 1000,
            keep_alive: false,
            ..Plan::new(target, Vec::new())
        };
        assert_eq!(closed.longest(), Some(second * (2 + 10 + 5)));
        let kept = Plan { keep_alive: true, ..closed.clone() };
        // A quarter of a listen queue at a time, and a pause after each that fails.
        assert_eq!(kept.longest(), Some(second * (8 * (5 + 1) + 2 + 10 + 5)));
        let counted = Plan { until: Until::Requests(1), ..kept.clone() };
        assert_eq!(counted.longest(), None, "a slow server takes any time");
        let endless = Plan { until: Until::Elapsed(Duration::MAX), ..kept };
        assert_eq!(endless.longest(), Some(Duration::MAX));
    }

    #[test]
    fn connections_of_threads_that_had_them_at_other_times_are_not_added_up() {
        let (to, from) = mpsc::channel();
        // Each thread has its 600 when the other has lost them.
        for (thread, open) in [(0, [600, 0]), (1, [100, 600])] {
            let mut record = Record::new(thread, None, to.clone());
            for (number, open) in (0..).zip(open) {
                record.begin_second(number, open);
            }
            record.finish(Clock::start(), WINDOW, 0, [0, 0]);
        }
        drop(to);
        let all = Collected::collect(&from, 2, WINDOW, Clock::start(), &mut |_| {});
        assert_eq!(all.open_max(), 700);
    }

    #[test]
    fn a_second_has_the_times_of_all_threads_and_keeps_no_histogram() {
        let (to, from) = mpsc::channel();
        for (thread, time) in [(0, 1_000_000), (1, 3_000_000)] {
            let mut record = Record::new(thread, None, to.clone());
            for number in 0..3 {
                record.begin_second(number, 1);
                record.account(Phase::Window).sent += 1;
                let kind = AnswerKind { status: 200, class: 0 };
                record.answered(Phase::Window, Times::default(), kind, None, time);
            }
            record.finish(Clock::start(), WINDOW, 0, [0, 0]);
        }
        drop(to);
        let all = Collected::collect(&from, 2, WINDOW, Clock::start(), &mut |_| {});
        assert_eq!(all.seconds.len(), 3);
        for sum in all.seconds.values() {
            assert_eq!(sum.second.good, 2);
            assert!(sum.second.p99 >= Some(3_000_000), "a thread's times are lost");
            assert!(sum.service.is_none(), "a run of a day would keep 86,400 of them");
        }
    }

    #[test]
    fn the_error_is_that_of_the_thread_that_failed_and_not_of_those_before_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = Target { address, authority: "x".into(), path: "/".into() };
        // No machine that tests run on has the last one.
        let last = rustix::thread::CpuSet::MAX_CPU - 1;
        let cpus = vec![limits::allowed_cpus().unwrap()[0], last];
        let plan = Plan { connections: 2, cpus, ..Plan::new(target, vec![Request::get("/")]) };
        let error = run(&plan, &Stop::default(), &mut |_| {}).unwrap_err();
        let is_systems = matches!(error, Error::System { .. });
        assert!(is_systems, "the machine's refusal was taken for a wrong plan: {error}");
        assert!(error.to_string().contains(&format!("processor {last}")), "{error}");
    }

    #[test]
    fn connections_made_ahead_are_told_of_all_threads_together() {
        let (to, from) = mpsc::channel();
        for (thread, open, is_ready) in
            [(0, 30, false), (1, 5, true), (0, 60, false), (2, 7, false), (0, 90, true)]
        {
            to.send(Connected { thread, open, is_ready }).unwrap();
        }
        // The third fails.
        drop(to);
        let mut told = Vec::new();
        assert!(!all_ready(&from, 3, &mut |news| told.push(*news)));
        assert_eq!(told, [30, 65, 72].map(News::Connecting));
    }

    /// They are what noise moves least: a loop that wakes up too often shows here first.
    #[test]
    fn sleeps_and_calls_of_the_kernel_are_told_on_both_backends() {
        const REQUESTS: u64 = 2_000;
        let target = Target { address: answering(), authority: "x".into(), path: "/".into() };
        let base = Plan {
            connections: 10,
            threads: 1,
            until: Until::Requests(REQUESTS),
            ..Plan::new(target, vec![Request::get("/")])
        };
        for backend in [BackendChoice::Auto, BackendChoice::Epoll] {
            let plan = Plan { backend, ..base.clone() };
            let seen = run(&plan, &Stop::default(), &mut |_| {}).unwrap();
            let thread = &seen.threads[0];
            assert!(thread.events >= REQUESTS, "each answer is an event: {thread:?}");
            assert!((1..=thread.enters).contains(&thread.sleeps), "it sleeps there: {thread:?}");
            if thread.backend == "epoll" {
                assert!(thread.enters >= 2 * REQUESTS, "each is sent, and received: {thread:?}");
            } else {
                assert!(thread.enters < 2 * REQUESTS, "they are handed over together: {thread:?}");
            }
        }
    }

    #[test]
    fn who_waits_for_several_answers_says_so() {
        let target = Target { address: answering(), authority: "x".into(), path: "/".into() };
        let plan = Plan {
            connections: 200,
            threads: 1,
            until: Until::Elapsed(Duration::from_secs(1)),
            ..Plan::new(target, vec![Request::get("/")])
        };
        let gathers_us = |plan: &Plan| {
            let seen = run(plan, &Stop::default(), &mut |_| {}).unwrap();
            (seen.threads[0].gathers_us, seen.threads[0].backend == "io_uring")
        };
        let (told, may_gather) = gathers_us(&plan);
        assert!(told <= 50.0 && (told > 0.0 || !may_gather), "{told}");
        let paced = Plan { arrivals: Arrivals::Constant(1_000.0), ..plan.clone() };
        let few = Plan { connections: 20, ..plan };
        assert_eq!([&paced, &few].map(|plan| gathers_us(plan).0), [0.0; 2]);
    }

    #[test]
    fn what_the_first_requests_cost_is_told_as_well() {
        let connections = 500;
        let target = Target { address: answering(), authority: "x".into(), path: "/".into() };
        let base = Plan {
            connections,
            threads: 1,
            cpus: limits::allowed_cpus().unwrap()[..1].to_vec(),
            ..Plan::new(target, vec![Request::get("/")])
        };
        let cpu_a_request = |requests: u64| {
            let plan = Plan { until: Until::Requests(requests), ..base.clone() };
            let seen = run(&plan, &Stop::default(), &mut |_| {}).unwrap();
            assert_eq!(seen.account.good, requests);
            let thread = &seen.threads[0];
            (thread.user_s + thread.system_s) / requests as f64
        };
        // All of the first run's requests are sent at its start.
        let (first, all) = (cpu_a_request(connections.into()), cpu_a_request(40_000));
        assert!(first > all / 3.0, "a first request took {first} s, one of many {all} s");
    }
}
