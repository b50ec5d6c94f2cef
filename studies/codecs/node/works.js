// The study's works, with any codec. A record is an object.
'use strict';

const { readFileSync, writeFileSync } = require('node:fs');
const { parseArgs, isDeepStrictEqual } = require('node:util');

const INTERVAL_MS = 200;
// Records between two looks at the clock.
const CLOCK_EVERY = 1_000;
const DEFAULT_TYPE = 'A';
const DEFAULT_TTL = 86_400;
// In which keys end, and how many letters there are from it on.
const FIRST_LETTER = 'a'.charCodeAt(0);
const LETTERS = 16;

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

// The code point with which a text ends, which is one of ASCII.
function end(text) {
  return text === '' ? 0 : text.charCodeAt(text.length - 1);
}

// Each place weighs 31 times as much as the next.
function weighed(before, after) {
  return (Math.imul(before, 31) + after) >>> 0;
}

// What shows that each field was read.
function number({ key, value, type, ttl, first, last }) {
  let all = ttl;
  all = weighed(weighed(all, begin(value)), end(value));
  all = weighed(weighed(all, begin(type)), end(type));
  all = weighed(weighed(all, begin(first)), end(first));
  all = weighed(weighed(all, begin(last)), end(last));
  return weighed(weighed(all, begin(key)), end(key));
}

// A kind of thing: a record, or a list of records. What a round over all of them changes is the
// letter in which each key ends.
const ONE = {
  change(record, letter) {
    record.key = record.key.slice(0, -1) + letter;
  },
  sum: (before, record) => weighed(before, number(record)),
};
const LIST = {
  change(records, letter) {
    records.forEach((record) => ONE.change(record, letter));
  },
  sum(before, records) {
    let sum = before;
    for (const record of records) {
      sum = ONE.sum(sum, record);
    }
    return sum;
  },
};

// What was done, which is told every now and then.
class Account {
  #done = 0;
  #sum = 0;
  #kind;
  #lookAt = CLOCK_EVERY;
  #begunMs = performance.now();
  #toldMs = 0;
  #untilMs;

  constructor(seconds, kind) {
    this.#kind = kind;
    this.#untilMs = seconds * 1000;
  }

  // Counts so many records, and returns whether the work goes on.
  add(records, thing) {
    this.#done += records;
    this.#sum = this.#kind.sum(this.#sum, thing);
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

// Where bytes have the letters that a round changes: there those of another letter differ.
function placesIn(encoded, thing, encode, records, kind) {
  const changed = structuredClone(thing);
  kind.change(changed, String.fromCharCode(FIRST_LETTER + 1));
  const other = encode(changed);
  const places = [...encoded.keys()].filter((at) => encoded[at] !== other[at]);
  if (other.length !== encoded.length || places.length !== records) {
    fail(`another letter isn't one other byte: ${JSON.stringify(thing)}`);
  }
  return places;
}

function work(things, encoded, { encode, decode }, { does, seconds, seed }, records, kind) {
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
  const places = things.map((thing, at) => placesIn(encoded[at], thing, encode, records, kind));
  let x = Number(seed);
  // No round has what was done in the last one.
  const beginRound = () => {
    x = (x * 48271) % 2147483647; // C++'s minstd_rand.
    const letter = FIRST_LETTER + (x % LETTERS);
    if (does === 'decode') {
      encoded.forEach((bytes, at) => places[at].forEach((place) => (bytes[place] = letter)));
    } else {
      things.forEach((thing) => kind.change(thing, String.fromCharCode(letter)));
    }
  };
  console.log(JSON.stringify({ ready: true }));
  const account = new Account(Number(seconds), kind);
  beginRound();
  let at = 0;
  while (account.add(records, step(at))) {
    at = (at + 1) % things.length;
    if (at === 0) {
      beginRound();
    }
  }
  console.log(JSON.stringify({ result: {} }));
}

// Does what the values of arguments say to things of so many records.
function start(values, things, codec, records, kind) {
  const { does, made, 'decode-from': decodeFrom } = values;
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
    work(things, encoded, codec, values, records, kind);
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
    start(values, records, one, 1, ONE);
    return;
  }
  const lists = [];
  for (let begins = 0; begins < records.length; begins += atOnce) {
    lists.push(records.slice(begins, begins + atOnce));
  }
  start(values, lists, many, atOnce, LIST);
}

module.exports = { DEFAULT_TYPE, DEFAULT_TTL, run };
