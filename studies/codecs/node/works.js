// The study's works, with any codec. A record is an object.
'use strict';

const { readFileSync, writeFileSync } = require('node:fs');
const { parseArgs, isDeepStrictEqual } = require('node:util');

const INTERVAL_MS = 200;
// Records between two looks at the clock.
const CLOCK_EVERY = 1_000;
const DEFAULT_TYPE = 'A';
const DEFAULT_TTL = 86_400;

// The records of a file: a line each, with tabs between its fields.
function read(path) {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [key, value, type, first, last, ttl] = line.split('\t');
    return { key, value, type, ttl: Number(ttl), first, last };
  });
}

function begin(text) {
  return text === '' ? 0 : text.codePointAt(0);
}

// What shows that each field was read.
function number({ key, value, type, ttl, first, last }) {
  return ttl + begin(key) + begin(value) + begin(type) + begin(first) + begin(last);
}

function numbers(records) {
  let sum = 0;
  for (const record of records) {
    sum += number(record);
  }
  return sum;
}

// What was done, which is told every now and then.
class Account {
  #done = 0;
  #sum = 0;
  #lookAt = CLOCK_EVERY;
  #begunMs = performance.now();
  #toldMs = 0;
  #untilMs;

  constructor(seconds) {
    this.#untilMs = seconds * 1000;
  }

  // Counts records with the sum of their numbers, and returns whether the work goes on.
  add(records, numbersOfThem) {
    this.#done += records;
    this.#sum = (this.#sum + numbersOfThem) % 2 ** 32;
    if (this.#done < this.#lookAt) {
      return true;
    }
    this.#lookAt += CLOCK_EVERY;
    return this.#tell();
  }

  #tell() {
    const nowMs = performance.now() - this.#begunMs;
    if (nowMs >= this.#toldMs + INTERVAL_MS) {
      console.log(JSON.stringify({ t: nowMs / 1000, done: this.#done, sum: this.#sum }));
      this.#toldMs = nowMs;
    }
    // Until it was told of at its end.
    return this.#toldMs < this.#untilMs;
  }
}

// Writes what was encoded, each with its length before it: four bytes, the highest first.
function store(path, encoded) {
  const pieces = encoded.flatMap((bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  writeFileSync(path, Buffer.concat(pieces));
}

function stored(path) {
  const file = readFileSync(path);
  const encoded = [];
  for (let at = 0; at < file.length; ) {
    const begins = at + 4;
    at = begins + file.readUInt32BE(at);
    encoded.push(file.subarray(begins, at));
  }
  return encoded;
}

function fail(why) {
  console.error(why);
  process.exit(1);
}

// What things are encoded, once it is known that they are the same after the round trip.
function checked(things, { encode, decode }) {
  const encoded = things.map(encode);
  things.forEach((thing, at) => {
    if (!isDeepStrictEqual(decode(encoded[at]), thing)) {
      fail(`it isn't the same after the round trip: ${JSON.stringify(thing)}`);
    }
  });
  return encoded;
}

// What was encoded last: else a compiler might leave it out.
let last;

function work(things, encoded, { encode, decode }, does, seconds, records, numberOf) {
  const works = {
    encode(at) {
      last = encode(things[at]);
      return things[at];
    },
    decode: (at) => decode(encoded[at]),
    both(at) {
      last = encode(things[at]);
      return decode(last);
    },
  };
  const step = works[does];
  console.log(JSON.stringify({ ready: true }));
  const account = new Account(seconds);
  let at = 0;
  while (account.add(records, numberOf(step(at)))) {
    at = (at + 1) % things.length;
  }
  console.log(JSON.stringify({ result: {} }));
}

// Does what the values of arguments say to things of so many records.
function start(values, things, codec, records, numberOf) {
  const { does, seconds, made, 'decode-from': decodeFrom } = values;
  if (decodeFrom !== undefined) {
    if (!isDeepStrictEqual(stored(decodeFrom).map(codec.decode), things)) {
      fail(`${decodeFrom} doesn't decode to the records`);
    }
    return;
  }
  const encoded = checked(things, codec);
  if (made !== undefined) {
    store(made, encoded);
  }
  if (does !== undefined) {
    work(things, encoded, codec, does, Number(seconds), records, numberOf);
  }
}

// Does what the arguments say, with the codec of a record and that of a list of records.
function run(one, many) {
  const option = { type: 'string' };
  const names = ['does', 'made', 'decode-from', 'data', 'at-once', 'seed', 'seconds', 'records'];
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, option])) });
  const records = read(values.records);
  const atOnce = Number(values['at-once']);
  if (atOnce === 1) {
    start(values, records, one, 1, number);
    return;
  }
  const lists = [];
  for (let begins = 0; begins < records.length; begins += atOnce) {
    lists.push(records.slice(begins, begins + atOnce));
  }
  start(values, lists, many, atOnce, numbers);
}

module.exports = { DEFAULT_TYPE, DEFAULT_TTL, run };
