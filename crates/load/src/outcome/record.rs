//! What one thread writes down while it measures: nothing shared, nothing
//! allocated a request.

use std::ops::Range;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

use histogram::{Histogram, Latency};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::backend::Calls;
use crate::interrupts::seconds_apart;
use crate::outcome::deliveries::SaidInSecond;
use crate::outcome::fault::Fault;
use crate::outcome::{
    Account, AnswerKind, ClassSeen, ErrorCount, ErrorKind, First, StatusCount, ThreadUse,
};
use crate::pace::clock::Clock;
use crate::pace::window::{Phase, Window};
use crate::{Moment, Outcome};

/// Answers of one second of a thread that are kept as samples: two, because they differ at
/// once where a server makes each anew, and not where it does so from time to time.
const SAMPLES_A_SECOND: usize = 2;

/// The largest answer that is kept as a sample.
const SAMPLE_BYTES_MAX: usize = 4096;

/// One second of a thread's run, handed to the collector when it is over.
pub(crate) struct SecondOfThread {
    /// Its thread.
    pub thread: usize,
    /// Its number in the window, from 0; negative before, and
    /// [`SecondOfThread::DRAIN`] for what came after the window.
    pub number: i64,
    /// Service times of the good answers of the window's requests.
    pub service: Histogram<u64>,
    /// Good answers that arrived in it, the warm-up's late ones included.
    pub good: u64,
    pub errors: u64,
    pub bytes: u64,
    /// The most connections that were open in it.
    pub open_max: u32,
    /// Good answers in it that came in one piece and are small enough: the first ones after a
    /// moment that is drawn, or its first ones where none came after that.
    pub samples: Vec<Sample>,
    /// What robots said in it, where there are such.
    pub said: Option<SaidInSecond>,
    /// That moment, as long as none was kept after it.
    drawn: Option<u64>,
    /// From when on an answer is kept.
    sampled_from: u64,
}

/// A good answer as it came.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// Its request's number.
    pub number: u64,
    /// When it came, since the Unix epoch.
    pub at: Duration,
    pub bytes: Vec<u8>,
}

impl SecondOfThread {
    pub(crate) const BEFORE: i64 = i64::MIN;
    pub(crate) const DRAIN: i64 = i64::MAX;

    fn new(thread: usize, number: i64, open: u32) -> SecondOfThread {
        let (service, samples) = (histogram::empty(), Vec::new());
        SecondOfThread {
            thread,
            number,
            service,
            good: 0,
            errors: 0,
            bytes: 0,
            open_max: open,
            samples,
            said: None,
            drawn: None,
            sampled_from: 0,
        }
    }
}

/// All that a thread writes down.
pub(crate) struct Record {
    /// What is written down as it is told; the rest comes at the end.
    pub outcome: Outcome,
    /// Answers by phase and status: bad ones and good ones.
    statuses: Box<[[[u64; 2]; 1000]; 2]>,
    /// The times of the window's requests by class, of those that are told apart.
    classes: Vec<ClassSeen>,
    /// From when response times count; `None` where they are service times, so that they
    /// aren't kept.
    since: Option<Since>,
    pub usage: ThreadUse,
    /// Whether answers may come together, so that it is worth a look whether they are alike.
    pub gathers: bool,
    /// The last good answer, and how many like it came together: they are yet to be written
    /// down.
    gathered: Option<(Good, u64)>,
    second: SecondOfThread,
    seconds: Sender<SecondOfThread>,
    /// Draws when answers are kept as samples: a server that foresaw it could be right just then.
    drawn_by: SmallRng,
}

/// A good answer, as far as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Good {
    phase: Phase,
    kind: AnswerKind,
    times: Times,
    /// When it was seen.
    at: u64,
}

/// The times of a request, in nanoseconds on the thread's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// When it was due.
    pub intended: u64,
    /// When it was taken up: sent, or its connection begun, and later by what this thread
    /// needed to see that the connection is there.
    pub begun: u64,
    /// When it was sent; [`Times::NEVER`] until then.
    pub sent: u64,
}

impl Times {
    pub(crate) const NEVER: u64 = u64::MAX;
}

/// From when response times count, where they aren't service times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// When the request was due, in an open loop.
    Intended,
    /// When it was taken up, in a closed loop in which each has a connection of its own:
    /// what the thread takes for itself, nobody is kept waiting by.
    Begun,
}

impl Since {
    fn of(self, times: Times) -> u64 {
        match self {
            Since::Intended => times.intended,
            Since::Begun => times.begun,
        }
    }
}

impl Record {
    /// An empty record. `since` says from when response times count, if they aren't
    /// service times.
    pub(crate) fn new(
        thread: usize,
        since: Option<Since>,
        seconds: Sender<SecondOfThread>,
    ) -> Record {
        Record {
            outcome: Outcome::nothing(Moment::now()),
            statuses: Box::new([[[0; 2]; 1000]; 2]),
            classes: Vec::new(),
            since,
            usage: ThreadUse::default(),
            gathers: false,
            gathered: None,
            second: SecondOfThread::new(thread, SecondOfThread::BEFORE, 0),
            seconds,
            drawn_by: SmallRng::seed_from_u64(thread as u64),
        }
    }

    /// Draws by another seed.
    pub(crate) fn seeded(self, seed: u64) -> Record {
        Record { drawn_by: SmallRng::seed_from_u64(seed), ..self }
    }

    /// Keeps the times of each class of requests apart.
    pub(crate) fn by_class(self, names: Vec<String>) -> Record {
        let nothing =
            |name| ClassSeen { name, response: Latency::default(), service: Latency::default() };
        Record { classes: names.into_iter().map(nothing).collect(), ..self }
    }

    pub(crate) fn account(&mut self, phase: Phase) -> &mut Account {
        match phase {
            Phase::Warmup => &mut self.outcome.warmup,
            Phase::Window => &mut self.outcome.account,
        }
    }

    /// Hands over the second that is over, and begins the one with this number,
    /// with so many connections open.
    pub(crate) fn begin_second(&mut self, number: i64, open: u32) {
        self.write_gathered();
        let next = SecondOfThread::new(self.second.thread, number, open);
        let over = std::mem::replace(&mut self.second, next);
        // A collector that is gone has no more use for it.
        let _ = self.seconds.send(over);
    }

    /// Samples of this second are those after a moment of this time, which is drawn.
    pub(crate) fn sample_within(&mut self, time: Range<u64>) {
        if !time.is_empty() {
            self.second.drawn = Some(self.drawn_by.random_range(time));
        }
    }

    /// So many connections are open now.
    pub(crate) fn open(&mut self, connections: u32) {
        self.second.open_max = self.second.open_max.max(connections);
    }

    pub(crate) fn bytes_received(&mut self, bytes: usize) {
        self.second.bytes += bytes as u64;
    }

    /// Robots said so much more in this second.
    pub(crate) fn said(&mut self, more: SaidInSecond) {
        self.second.said = Some(self.second.said.unwrap_or_default().merge(more));
    }

    /// Bytes received so far in this second.
    pub(crate) fn bytes_of_second(&self) -> u64 {
        self.second.bytes
    }

    /// The median service time of this second's answers; 0 without any.
    pub(crate) fn usual_service_of_second(&self) -> u64 {
        self.second.service.value_at_quantile(0.5)
    }

    /// So many bytes that were counted as sent never were.
    pub(crate) fn bytes_unsent(&mut self, bytes: u64) {
        self.outcome.bytes_sent = self.outcome.bytes_sent.saturating_sub(bytes);
    }

    /// An attempt to connect failed.
    pub(crate) fn connect_failed(&mut self, fault: &Fault, now: u64) {
        self.outcome.connections.failed += 1;
        self.outcome.firsts.failed.get_or_insert_with(|| First {
            at: Duration::from_nanos(now),
            what: (fault.kind, fault.example.clone()),
        });
    }

    /// The server spoke where nothing was asked.
    pub(crate) fn unasked(&mut self, example: String, now: u64) {
        self.outcome.connections.unasked += 1;
        let first = First { at: Duration::from_nanos(now), what: example };
        self.outcome.firsts.unasked.get_or_insert(first);
    }

    /// A good answer to a request of this phase was seen at `now`, and had come to this
    /// machine at `stamp`, since the Unix epoch.
    pub(crate) fn seen(&mut self, phase: Phase, stamp: Duration, clock: Clock, now: u64) {
        if phase == Phase::Window {
            let came = clock.of_unix(stamp);
            self.outcome.seen_late.saturating_record(now.saturating_sub(came));
        }
    }

    /// Whether this second still lacks samples of its answers, now.
    #[inline(always)]
    pub(crate) fn lacks_samples(&self, now: u64) -> bool {
        now >= self.second.sampled_from
    }

    /// Keeps a good answer as a sample of this second, if it is small enough.
    #[cold]
    pub(crate) fn sample(&mut self, number: u64, bytes: &[u8], now: u64) {
        if bytes.len() <= SAMPLE_BYTES_MAX {
            let second = &mut self.second;
            if second.drawn.take_if(|drawn| now >= *drawn).is_some() {
                second.samples.clear();
            }
            if second.samples.len() + 1 == SAMPLES_A_SECOND {
                second.sampled_from = second.drawn.unwrap_or(u64::MAX);
            }
            let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            self.second.samples.push(Sample { number, at, bytes: bytes.to_vec() });
        }
    }

    /// A whole answer came to a request of this phase: a good one, unless it has a fault.
    #[inline(always)]
    pub(crate) fn answered(
        &mut self,
        phase: Phase,
        times: Times,
        kind: AnswerKind,
        fault: Option<Box<Fault>>,
        now: u64,
    ) {
        let good = Good { phase, kind, times, at: now };
        match fault {
            None if self.gathers => self.gather(good),
            None => self.write(good, 1),
            Some(fault) => {
                self.statuses[phase as usize][usize::from(kind.status)][0] += 1;
                self.error(phase, *fault, now);
            }
        }
    }

    /// Writes an answer down together with those like it: in a pipeline most of them were sent
    /// together, and came together.
    #[inline(always)]
    fn gather(&mut self, good: Good) {
        match &mut self.gathered {
            Some((last, count)) if *last == good => *count += 1,
            _ => {
                self.write_gathered();
                self.gathered = Some((good, 1));
            }
        }
    }

    /// Good answers that are yet to be written down.
    pub(crate) fn ungathered(&self) -> u64 {
        self.gathered.map_or(0, |(_, count)| count)
    }

    fn write_gathered(&mut self) {
        if let Some((good, count)) = self.gathered.take() {
            self.write(good, count);
        }
    }

    /// Writes down that so many answers like this one came.
    #[inline(always)]
    fn write(&mut self, good: Good, count: u64) {
        let Good { phase, kind, times, at } = good;
        self.statuses[phase as usize][usize::from(kind.status)][1] += count;
        self.second.good += count;
        self.account(phase).good += count;
        if phase == Phase::Warmup {
            return;
        }
        let service = at.saturating_sub(times.sent);
        self.second.service.saturating_record_n(service, count);
        let of_class = self.classes.get_mut(usize::from(kind.class));
        if let Some(since) = self.since {
            let response = at.saturating_sub(since.of(times));
            self.outcome.response.good.saturating_record_n(response, count);
            if let Some(seen) = of_class {
                seen.service.good.saturating_record_n(service, count);
                seen.response.good.saturating_record_n(response, count);
            }
            self.late(since, times, count);
        } else if let Some(seen) = of_class {
            seen.service.good.saturating_record_n(service, count);
        }
    }

    /// How late so many requests were. In a closed loop nobody says when they are due.
    #[inline(always)]
    fn late(&mut self, since: Since, times: Times, count: u64) {
        if since == Since::Intended {
            let late = times.begun.saturating_sub(times.intended);
            self.outcome.lateness.saturating_record_n(late, count);
        }
    }

    /// A request ended in an error at this time.
    pub(crate) fn error(&mut self, phase: Phase, fault: Fault, now: u64) {
        self.second.errors += 1;
        let errors = &mut self.account(phase).errors;
        match errors.iter_mut().find(|error| error.kind == fault.kind) {
            Some(error) => error.count += 1,
            None => errors.push(ErrorCount {
                kind: fault.kind,
                count: 1,
                first: Duration::from_nanos(now),
                example: fault.example,
            }),
        }
    }

    /// A request of this class had no answer until now, so that it is only known to have taken
    /// longer.
    pub(crate) fn censored(&mut self, phase: Phase, times: Times, now: u64, class: u16) {
        if phase == Phase::Warmup {
            return;
        }
        // A wait for the connection, which nothing was sent on, is service time as well where
        // both are the same.
        let served_since = match self.since {
            None => Some(times.begun),
            Some(_) => (times.sent != Times::NEVER).then_some(times.sent),
        };
        let since = self.since;
        for (response, service) in self.latencies(class) {
            if let Some(then) = served_since {
                service.censored.saturating_record(now.saturating_sub(then));
            }
            if let Some(since) = since {
                response.censored.saturating_record(now.saturating_sub(since.of(times)));
            }
        }
        if let Some(since) = since {
            self.late(since, times, 1);
        }
    }

    /// A request of the window and of this class was never sent, though it was due so long ago.
    pub(crate) fn shed(&mut self, waited: u64, class: u16) {
        if self.since.is_some() {
            for (response, _) in self.latencies(class) {
                response.censored.saturating_record(waited);
            }
        }
    }

    /// Response and service times of all requests, and of this class.
    fn latencies(&mut self, class: u16) -> impl Iterator<Item = (&mut Latency, &mut Latency)> {
        let of_one = self.classes.get_mut(usize::from(class));
        let all = (&mut self.outcome.response, &mut self.outcome.service);
        std::iter::once(all).chain(of_one.map(|seen| (&mut seen.response, &mut seen.service)))
    }

    /// Hands over the last second, lets the collector know that it was, and gives what was
    /// written down in a window that ended then. So many turns were taken, by [`Phase`].
    pub(crate) fn finish(
        mut self,
        clock: Clock,
        window: Window,
        window_end: u64,
        scheduled: [u64; 2],
    ) -> Outcome {
        self.begin_second(SecondOfThread::DRAIN, 0);
        for (phase, begin) in [(Phase::Warmup, window.start), (Phase::Window, window.begin)] {
            let by_status = (0..).zip(&self.statuses[phase as usize]);
            let counted = by_status.map(|(status, &[bad, good])| StatusCount {
                status,
                count: bad + good,
                good,
            });
            let statuses = counted.filter(|it| it.status > 0 && it.count > 0).collect();
            let account = self.account(phase);
            account.statuses = statuses;
            account.scheduled = scheduled[phase as usize];
            for error in &mut account.errors {
                error.first = error.first.saturating_sub(Duration::from_nanos(begin));
            }
        }
        Outcome {
            classes: self.classes,
            window_began: clock.moment(window.begin),
            window: Duration::from_nanos(window_end.saturating_sub(window.begin)),
            threads: vec![self.usage],
            ..self.outcome
        }
    }
}

/// What this thread has spent by some moment.
pub(crate) struct Spent {
    /// The moment, in ns of the run's clock.
    now: u64,
    /// CPU seconds in user mode and in the kernel.
    cpu: (f64, f64),
    /// Seconds that it was ready to run and waited for a processor.
    run_delay: Option<f64>,
    /// Seconds of its processor's interrupts, where they aren't in its own.
    interrupts: Option<f64>,
    /// How often it slept.
    sleeps: u64,
    /// What its backend asked of the kernel.
    calls: Calls,
}

impl Spent {
    /// By now, on this processor, with such calls of the kernel so far.
    pub(crate) fn by(now: u64, cpu: Option<usize>, calls: Calls) -> Spent {
        let usage = of_thread();
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        Spent {
            now,
            cpu: (seconds(usage.ru_utime), seconds(usage.ru_stime)),
            run_delay: schedstat.and_then(|line| run_delay(&line)),
            interrupts: cpu.and_then(|cpu| seconds_apart(&[cpu])),
            sleeps: usage.ru_nvcsw.unsigned_abs(),
            calls,
        }
    }

    /// Writes down what was spent from this moment to a later one.
    pub(crate) fn write_growth(&self, later: &Spent, usage: &mut ThreadUse) {
        (usage.user_s, usage.system_s) = (later.cpu.0 - self.cpu.0, later.cpu.1 - self.cpu.1);
        usage.sleeps = later.sleeps - self.sleeps;
        usage.enters = later.calls.enters - self.calls.enters;
        usage.events = later.calls.events - self.calls.events;
        let wall = (later.now - self.now).max(1) as f64 / 1e9;
        let interrupts = self.interrupts.zip(later.interrupts);
        let interrupts = interrupts.map_or(0.0, |(before, after)| after - before);
        usage.busy_share = ((usage.user_s + usage.system_s + interrupts) / wall).min(1.0);
        let delays = self.run_delay.zip(later.run_delay);
        usage.run_delay_share =
            delays.map(|(before, after)| ((after - before) / wall).clamp(0.0, 1.0));
    }
}

/// What the kernel counts of this thread.
fn of_thread() -> libc::rusage {
    // SAFETY: rusage is plain data, for which zeros are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one rusage.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage
}

/// From `CPU-ns waiting-ns times`. All three are 0 where the kernel has the file,
/// but doesn't count.
fn run_delay(line: &str) -> Option<f64> {
    let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().ok());
    let (cpu, delay) = (numbers.next()??, numbers.next()??);
    (cpu > 0).then_some(delay as f64 / 1e9)
}

/// The kind of an error that the kernel names by number, and its words.
pub(crate) fn fault_of(errno: i32, connecting: bool) -> Fault {
    let kind = match errno {
        libc::ECONNREFUSED => ErrorKind::Refused,
        libc::ETIMEDOUT if connecting => ErrorKind::ConnectTimeout,
        libc::ETIMEDOUT => ErrorKind::Timeout,
        libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => ErrorKind::Reset,
        libc::EADDRNOTAVAIL
        | libc::EADDRINUSE
        | libc::EMFILE
        | libc::ENFILE
        | libc::ENOBUFS
        | libc::ENOMEM => ErrorKind::Client,
        _ => ErrorKind::Network,
    };
    let words = std::io::Error::from_raw_os_error(errno);
    let example = match errno {
        libc::EADDRNOTAVAIL => format!(
            "{words}: this client has no free port left towards the server; the server is not at \
             fault"
        ),
        _ => words.to_string(),
    };
    Fault { kind, example }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: u16 = 0;
    const SET: u16 = 1;
    const DELETE: u16 = 2;

    fn names() -> Vec<String> {
        ["get", "set", "delete"].map(String::from).into()
    }

    /// An answer of a class.
    fn of(class: u16) -> AnswerKind {
        AnswerKind { status: 0, class }
    }

    #[test]
    fn waiting_for_a_processor_is_read_only_where_the_kernel_counts_it() {
        assert_eq!(run_delay("1500000000 250000000 42\n"), Some(0.25));
        assert_eq!(run_delay("1500000000 0 42\n"), Some(0.0), "never waited");
        assert_eq!(run_delay("0 0 0\n"), None, "not counted");
        assert_eq!(run_delay(""), None);
    }

    #[test]
    fn what_comes_together_is_written_down_as_if_it_came_one_by_one() {
        let seen = |gathers: bool| {
            let (seconds, told) = std::sync::mpsc::channel();
            let mut record = Record::new(0, Some(Since::Intended), seconds).by_class(names());
            record.gathers = gathers;
            let times = |sent| Times { intended: 500, begun: 700, sent };
            let mut answered = |phase, class, sent, at| {
                record.answered(phase, times(sent), of(class), None, at);
            };
            for _ in 0..3 {
                answered(Phase::Warmup, GET, 1_000, 2_000);
                answered(Phase::Window, GET, 1_000, 2_000);
                answered(Phase::Window, GET, 1_000, 2_000);
                answered(Phase::Window, SET, 1_000, 2_000);
                answered(Phase::Window, SET, 1_500, 2_000);
                answered(Phase::Window, SET, 1_500, 3_000);
            }
            record.begin_second(0, 1);
            record.answered(Phase::Window, times(1_000), of(GET), None, 4_000);
            (record.outcome.account.sent, record.outcome.warmup.sent) = (16, 3);
            let window = Window { start: 0, begin: 0, end: 5_000 };
            let outcome = record.finish(Clock::start(), window, 5_000, [3, 16]);
            let told: Vec<_> = told.iter().map(|second| (second.good, second.service)).collect();
            let times = |latency: Latency| (latency.good, latency.censored);
            let all = (times(outcome.response), outcome.lateness, outcome.account.good);
            let apart = outcome.classes.into_iter();
            let apart: Vec<_> = apart.map(|it| (times(it.response), times(it.service))).collect();
            (told, all, apart)
        };
        let one_by_one = seen(false);
        assert_eq!(one_by_one.0.iter().map(|(good, _)| good).sum::<u64>(), 19);
        assert_eq!(seen(true), one_by_one);
    }

    /// Else a server could be right at the begin of each second, and quick after it.
    #[test]
    fn samples_are_of_a_moment_that_nobody_foresees() {
        let first_of = |seed: u64, answers: &[u64]| {
            let (seconds, told) = std::sync::mpsc::channel();
            let mut record = Record::new(0, None, seconds).seeded(seed);
            record.begin_second(0, 1);
            record.sample_within(0..1_000);
            for &at in answers {
                if record.lacks_samples(at) {
                    record.sample(at, b"answer", at);
                }
            }
            record.begin_second(1, 1);
            let of_second = told.iter().nth(1).unwrap();
            of_second.samples.iter().map(|it| it.number).collect::<Vec<u64>>()
        };
        let all: Vec<u64> = (0..1_000).collect();
        let firsts: std::collections::BTreeSet<u64> =
            (0..100).map(|seed| first_of(seed, &all)[0]).collect();
        assert!(firsts.len() > 80, "they are of few moments: {firsts:?}");
        assert!(*firsts.first().unwrap() < 100 && *firsts.last().unwrap() > 900, "{firsts:?}");
        let [first, second] = first_of(7, &all)[..] else { panic!("two are kept") };
        assert_eq!(second, first + 1);
        assert_eq!(first_of(7, &[0, 1]), [0, 1], "where none comes later, the first ones are kept");
    }

    #[test]
    fn an_operation_has_its_own_answers_and_its_own_waits() {
        let (seconds, _) = std::sync::mpsc::channel();
        let mut record = Record::new(0, Some(Since::Intended), seconds).by_class(names());
        let times = Times { intended: 1_000, begun: 1_500, sent: 2_000 };
        record.answered(Phase::Window, times, of(GET), None, 3_000);
        record.answered(Phase::Warmup, times, of(GET), None, 3_000);
        record.censored(Phase::Window, times, 3_000, SET);
        record.censored(Phase::Warmup, times, 3_000, SET);
        record.shed(500, DELETE);
        (record.outcome.account.sent, record.outcome.warmup.sent) = (2, 2);
        let window = Window { start: 0, begin: 0, end: 4_000 };
        let outcome = record.finish(Clock::start(), window, 4_000, [2, 3]);
        let of = |class: u16| {
            let seen = &outcome.classes[usize::from(class)];
            assert_eq!(seen.name, names()[usize::from(class)]);
            let times = |latency: &Latency| [latency.good.max(), latency.censored.max()];
            (times(&seen.response), times(&seen.service))
        };
        // A histogram tells these apart to the nanosecond.
        assert_eq!(of(GET), ([2_000, 0], [1_000, 0]));
        assert_eq!(of(SET), ([0, 2_000], [0, 1_000]));
        assert_eq!(of(DELETE), ([0, 500], [0, 0]));
        assert_eq!(outcome.response.samples(), 3, "all of them are a part of the whole");
    }
}
