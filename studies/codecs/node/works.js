// The study's works, with any codec. A record is an object.
'use strict';

const { readFileSync } = require('node:fs');
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

// What was encoded last: else a compiler might leave it out.
let last;

function work(things, { encode, decode }, does, seconds, records, numberOf) {
  const encoded = things.map(encode);
  things.forEach((thing, at) => {
    if (!isDeepStrictEqual(decode(encoded[at]), thing)) {
      console.error(`it isn't the same after the round trip: ${JSON.stringify(thing)}`);
      process.exit(1);
    }
  });
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
  const bytes = encoded.reduce((sum, { length }) => sum + length, 0);
  console.log(JSON.stringify({ result: { bytes_each: bytes / things.length / records } }));
}

// Does what the arguments say, with the codec of a record and that of a list of records.
function run(one, many) {
  const option = { type: 'string' };
  const options = { does: option, data: option, 'at-once': option, seed: option, seconds: option, records: option };
  const { values } = parseArgs({ options });
  const records = read(values.records);
  const atOnce = Number(values['at-once']);
  const seconds = Number(values.seconds);
  if (atOnce === 1) {
    work(records, one, values.does, seconds, 1, number);
    return;
  }
  const lists = [];
  for (let begins = 0; begins < records.length; begins += atOnce) {
    lists.push(records.slice(begins, begins + atOnce));
  }
  work(lists, many, values.does, seconds, atOnce, numbers);
}

module.exports = { DEFAULT_TYPE, DEFAULT_TTL, run };
