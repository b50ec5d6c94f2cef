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
pub trait Thing: Debug + Clone + PartialEq {
    /// The sum after one more, modulo 2^32.
    fn sum(&self, before: u32) -> u32;

    /// Changes what a round over all records changes: the letter in which each key ends.
    fn change(&mut self, letter: char);
}

/// Each place weighs 31 times as much as the next.
fn weighed(before: u32, after: u32) -> u32 {
    before.wrapping_mul(31).wrapping_add(after)
}

impl Row {
    /// What shows that each field was read. The last code point of a text is one of ASCII.
    fn number(&self) -> u32 {
        let texts = [&self.value, &self.r#type, &self.first, &self.last, &self.key];
        texts.into_iter().fold(self.ttl as u32, |number, text| {
            let begin = text.chars().next().map_or(0, u32::from);
            let end = text.as_bytes().last().map_or(0, |&byte| byte.into());
            weighed(weighed(number, begin), end)
        })
    }
}

impl Thing for Row {
    fn sum(&self, before: u32) -> u32 {
        weighed(before, self.number())
    }

    fn change(&mut self, letter: char) {
        self.key.pop();
        self.key.push(letter);
    }
}

impl Thing for Vec<Row> {
    fn sum(&self, before: u32) -> u32 {
        self.iter().fold(before, |sum, row| row.sum(sum))
    }

    fn change(&mut self, letter: char) {
        self.iter_mut().for_each(|row| row.change(letter));
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

    /// Counts so many records, and returns whether the work goes on.
    fn add(&mut self, records: u64, thing: &impl Thing) -> bool {
        self.done += records;
        self.sum = thing.sum(self.sum);
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
        Some(does) => work(things, encoded, form, &does, records),
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

const FIRST_LETTER: char = 'a';
const LETTERS: u64 = 16;

/// A letter a round, by its payload: C++'s `minstd_rand`.
struct Letters(u64);

impl Letters {
    fn next(&mut self) -> char {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        (FIRST_LETTER as u8 + (self.0 % LETTERS) as u8).into()
    }
}

/// Where bytes have the letters that a round changes: there those of another letter differ.
fn places<T: Thing>(
    encoded: &[u8],
    thing: &T,
    form: &Form<T>,
    records: u64,
) -> Outcome<Vec<usize>> {
    let mut other = thing.clone();
    other.change('b');
    let other = (form.encode)(&other)?;
    let differ = (0..encoded.len().min(other.len())).filter(|&at| encoded[at] != other[at]);
    let places: Vec<usize> = differ.collect();
    if other.len() != encoded.len() || places.len() as u64 != records {
        fail(&format!("another letter isn't one other byte: {thing:?}"));
    }
    Ok(places)
}

fn work<T: Thing>(
    things: &[T],
    encoded: Vec<Vec<u8>>,
    form: &Form<T>,
    does: &str,
    records: u64,
) -> Outcome<()> {
    let Form { encode, decode } = form;
    let (mut things, mut encoded) = (things.to_vec(), encoded);
    let all = encoded.iter().zip(&things);
    let places = all
        .map(|(bytes, thing)| places(bytes, thing, form, records))
        .collect::<Result<Vec<_>, _>>()?;
    let mut letters = Letters(argument("--seed").parse()?);
    let mut account = Account::begin(argument("--seconds").parse()?);
    loop {
        // No round has what was done in the last one.
        let letter = letters.next();
        if does == "decode" {
            for (bytes, places) in encoded.iter_mut().zip(&places) {
                places.iter().for_each(|&place| bytes[place] = letter as u8);
            }
        } else {
            things.iter_mut().for_each(|thing| thing.change(letter));
        }
        for (thing, bytes) in things.iter().zip(&encoded) {
            let goes_on = match does {
                "encode" => {
                    black_box(encode(thing)?);
                    account.add(records, thing)
                }
                "decode" => account.add(records, &decode(bytes)?),
                _ => account.add(records, &decode(&black_box(encode(thing)?))?),
            };
            if !goes_on {
                println!(r#"{{"result": {{}}}}"#);
                return Ok(());
            }
        }
    }
}
