//! The study's works, with any codec.

use std::error::Error;
use std::fmt::Debug;
use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs, process};

const INTERVAL: Duration = Duration::from_millis(200);
/// Records between two looks at the clock.
const CLOCK_EVERY: u64 = 1_000;

pub const DEFAULT_TYPE: &str = "A";
pub const DEFAULT_TTL: i32 = 86_400;

/// A record, as the program itself has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Row {
    pub key: String,
    pub value: String,
    pub r#type: String,
    pub ttl: i32,
    pub first: String,
    pub last: String,
}

impl Row {
    /// Of a line, with tabs between its fields.
    fn of(line: &str) -> Row {
        let fields: Vec<String> = line.split('\t').map(String::from).collect();
        let [key, value, r#type, first, last, ttl] =
            fields.try_into().expect("a line has six fields");
        Row { key, value, r#type, ttl: ttl.parse().expect("a ttl is a number"), first, last }
    }
}

/// What is done once, or is a list of that.
pub trait Thing: Debug + PartialEq {
    /// What shows that each field was read, modulo 2^32.
    fn number(&self) -> u32;
}

impl Thing for Row {
    fn number(&self) -> u32 {
        let texts = [&self.key, &self.value, &self.r#type, &self.first, &self.last];
        let begin = |text: &String| text.chars().next().map_or(0, u32::from);
        texts.into_iter().map(begin).fold(self.ttl as u32, u32::wrapping_add)
    }
}

impl Thing for Vec<Row> {
    fn number(&self) -> u32 {
        self.iter().map(Row::number).fold(0, u32::wrapping_add)
    }
}

/// What a step gave, or why it failed.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// How something becomes bytes, and is made of them again.
pub struct Form<T> {
    pub encode: fn(&T) -> Outcome<Vec<u8>>,
    pub decode: fn(&[u8]) -> Outcome<T>,
}

/// What was done, which is told every now and then.
struct Account {
    done: u64,
    sum: u32,
    look_at: u64,
    begun: Instant,
    told: Duration,
    until: Duration,
}

impl Account {
    /// Says that the work begins.
    fn begin(seconds: f64) -> Account {
        println!(r#"{{"ready": true}}"#);
        let until = Duration::from_secs_f64(seconds);
        let begun = Instant::now();
        Account { done: 0, sum: 0, look_at: CLOCK_EVERY, begun, told: Duration::ZERO, until }
    }

    /// Counts records with the sum of their numbers, and returns whether the work goes on.
    fn add(&mut self, records: u64, numbers: u32) -> bool {
        self.done += records;
        self.sum = self.sum.wrapping_add(numbers);
        if self.done < self.look_at {
            return true;
        }
        self.look_at += CLOCK_EVERY;
        self.tell()
    }

    fn tell(&mut self) -> bool {
        let now = self.begun.elapsed();
        if now >= self.told + INTERVAL {
            let (t, done, sum) = (now.as_secs_f64(), self.done, self.sum);
            println!(r#"{{"t": {t:.6}, "done": {done}, "sum": {sum}}}"#);
            self.told = now;
        }
        // Until it was told of at its end.
        self.told < self.until
    }
}

/// The value of an argument, as of `--seed 7`.
fn argument(name: &str) -> String {
    optional(name).unwrap_or_else(|| panic!("{name} and its value have to be given"))
}

fn optional(name: &str) -> Option<String> {
    env::args().skip_while(|argument| argument != name).nth(1)
}

/// Writes what was encoded, each with its length before it: four bytes, the highest first.
fn store(path: &str, encoded: &[Vec<u8>]) -> Outcome<()> {
    let mut file = Vec::new();
    for bytes in encoded {
        file.extend(u32::try_from(bytes.len())?.to_be_bytes());
        file.extend(bytes);
    }
    Ok(fs::write(path, file)?)
}

fn stored(path: &str) -> Outcome<Vec<Vec<u8>>> {
    let file = fs::read(path)?;
    let (mut encoded, mut rest) = (Vec::new(), file.as_slice());
    while let Some((length, more)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let (bytes, more) =
            more.split_at_checked(length).ok_or_else(|| format!("{path} ends too early"))?;
        encoded.push(bytes.to_vec());
        rest = more;
    }
    Ok(encoded)
}

/// Does what the arguments say, with the form of a row and that of a list of rows.
pub fn run(one: Form<Row>, many: Form<Vec<Row>>) -> Outcome<()> {
    let file = fs::read_to_string(argument("--records"))?;
    let rows: Vec<Row> = file.lines().map(Row::of).collect();
    match argument("--at-once").parse()? {
        1 => start(&rows, &one, 1),
        at_once => {
            let lists: Vec<Vec<Row>> = rows.chunks(at_once).map(<[Row]>::to_vec).collect();
            start(&lists, &many, at_once as u64)
        }
    }
}

fn start<T: Thing>(things: &[T], form: &Form<T>, records: u64) -> Outcome<()> {
    if let Some(path) = optional("--decode-from") {
        let encoded = stored(&path)?;
        let decoded = encoded.iter().map(|bytes| (form.decode)(bytes));
        if decoded.collect::<Result<Vec<_>, _>>()? != things {
            fail(&format!("{path} doesn't decode to the records"));
        }
        return Ok(());
    }
    let encoded = checked(things, form)?;
    if let Some(path) = optional("--made") {
        store(&path, &encoded)?;
    }
    match optional("--does") {
        Some(does) => work(things, &encoded, form, &does, records),
        None => Ok(()),
    }
}

fn fail(why: &str) -> ! {
    eprintln!("{why}");
    process::exit(1);
}

/// What things are encoded, once it is known that they are the same after the round trip.
fn checked<T: Thing>(things: &[T], form: &Form<T>) -> Outcome<Vec<Vec<u8>>> {
    let encoded = things.iter().map(form.encode).collect::<Result<Vec<_>, _>>()?;
    for (thing, bytes) in things.iter().zip(&encoded) {
        if (form.decode)(bytes)? != *thing {
            fail(&format!("it isn't the same after the round trip: {thing:?}"));
        }
    }
    Ok(encoded)
}

fn work<T: Thing>(
    things: &[T],
    encoded: &[Vec<u8>],
    form: &Form<T>,
    does: &str,
    records: u64,
) -> Outcome<()> {
    let Form { encode, decode } = form;
    let number_at = |place: usize| -> Outcome<u32> {
        Ok(match does {
            "encode" => {
                black_box(encode(&things[place])?);
                things[place].number()
            }
            "decode" => decode(&encoded[place])?.number(),
            _ => decode(&black_box(encode(&things[place])?))?.number(),
        })
    };
    let mut account = Account::begin(argument("--seconds").parse()?);
    let mut place = 0;
    while account.add(records, number_at(place)?) {
        place = (place + 1) % things.len();
    }
    println!(r#"{{"result": {{}}}}"#);
    Ok(())
}
