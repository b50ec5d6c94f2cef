// What a message costs in Node.js: between two worker threads over the port that each has to the
// other, in a ring of ports of one thread, and between asynchronous functions.
'use strict';

const { once } = require('node:events');
const { parseArgs } = require('node:util');
const { MessageChannel, Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const INTERVAL_MS = 200;
// Units between two looks at the clock.
const CLOCK_EVERY = 1_000;
const ROUND = 1_000_000;
const RING = 1_000;
const BATCH = 10_000;
// What ends a round, and what asks for the next. No payload is 0.
const DONE = 0;

// The payload after x: C++'s minstd_rand.
function following(x) {
  return (x * 48271) % 2147483647;
}

// What was received, which is told every now and then.
class Account {
  done = 0;
  sum = 0;
  #begunMs = performance.now();
  #toldMs = 0;
  #untilMs;

  constructor(seconds) {
    this.#untilMs = seconds * 1000;
  }

  // Counts a unit, and returns whether the work goes on.
  add(payload) {
    this.done++;
    this.sum = (this.sum + payload) % 2 ** 32;
    return this.done % CLOCK_EVERY !== 0 || this.tell();
  }

  // Prints what was done, if that is due, and returns whether the work goes on.
  tell() {
    const nowMs = performance.now() - this.#begunMs;
    if (nowMs >= this.#toldMs + INTERVAL_MS) {
      console.log(JSON.stringify({ t: nowMs / 1000, done: this.done, sum: this.sum }));
      this.#toldMs = nowMs;
    }
    return this.#toldMs < this.#untilMs;
  }
}

// What the other thread does, whenever the first has a message for it.
const OTHERS = {
  sendRound(x) {
    return () => {
      for (let sent = 0; sent < ROUND; sent++) {
        x = following(x);
        parentPort.postMessage(x);
      }
      parentPort.postMessage(DONE);
    };
  },
  sendOnCredit(x) {
    return (credit) => {
      for (; credit > 0; credit--) {
        x = following(x);
        parentPort.postMessage(x);
      }
    };
  },
  answer() {
    return (payload) => parentPort.postMessage(payload);
  },
};

function other(name, seed) {
  return new Worker(__filename, { workerData: { name, seed } });
}

async function oneWayUnbounded(seed, begin) {
  const sender = other('sendRound', seed);
  await once(sender, 'online');
  const account = begin();
  sender.on('message', (payload) => {
    if (payload === DONE) {
      sender.postMessage(DONE);
    } else if (!account.add(payload)) {
      end({});
    }
  });
  sender.postMessage(DONE);
}

// More is granted once half of the window is used.
async function oneWay(window, seed, begin) {
  const sender = other('sendOnCredit', seed);
  await once(sender, 'online');
  const account = begin();
  const half = Math.max(1, window / 2);
  sender.on('message', (payload) => {
    if (!account.add(payload)) {
      end({});
    } else if (account.done % half === 0) {
      sender.postMessage(half);
    }
  });
  sender.postMessage(window);
}

async function pingPong(x, begin) {
  const answerer = other('answer', x);
  await once(answerer, 'online');
  const account = begin();
  const ping = () => {
    x = following(x);
    answerer.postMessage(x);
  };
  answerer.on('message', (payload) => (account.add(payload) ? ping() : end({})));
  ping();
}

function hop({ x, sum, done }) {
  const payload = following(x);
  return { x: payload, sum: (sum + payload) % 2 ** 32, done: done + 1 };
}

// A thousand threads would be a thousand engines: here each task is what listens at a port.
function ring(seed, begin) {
  const channels = Array.from({ length: RING }, () => new MessageChannel());
  const first = channels[0].port1;
  channels.slice(1).forEach(({ port1: after }, before) => {
    channels[before].port2.on('message', (token) => after.postMessage(hop(token)));
  });
  const account = begin();
  channels.at(-1).port2.on('message', (token) => {
    const last = hop(token);
    account.done = last.done;
    account.sum = last.sum;
    if (account.tell()) {
      first.postMessage(last);
    } else {
      end({});
    }
  });
  first.postMessage({ x: seed, sum: 0, done: 0 });
}

async function task(released, payload) {
  await released;
  return payload;
}

async function spawn(x, begin) {
  const account = begin();
  const before = process.memoryUsage.rss();
  let bytesEach;
  do {
    let release;
    const released = new Promise((resolve) => {
      release = resolve;
    });
    const tasks = Array.from({ length: BATCH }, () => {
      x = following(x);
      return task(released, x);
    });
    bytesEach ??= (process.memoryUsage.rss() - before) / BATCH;
    release();
    for (const payload of await Promise.all(tasks)) {
      account.done++;
      account.sum = (account.sum + payload) % 2 ** 32;
    }
  } while (account.tell());
  end({ bytes_each: Math.round(bytesEach) });
}

async function handOver(x, begin) {
  const account = begin();
  const step = () => {
    x = following(x);
    return account.add(x);
  };
  const hand = async () => {
    while (step()) {
      // Who waits for nothing goes on when those have who wait already.
      await null;
    }
  };
  await Promise.all([hand(), hand()]);
  end({});
}

function end(result) {
  console.log(JSON.stringify({ result }));
  process.exit();
}

const WORKS = {
  'oneway-unbounded': oneWayUnbounded,
  'oneway-1': (seed, begin) => oneWay(1, seed, begin),
  'oneway-64': (seed, begin) => oneWay(64, seed, begin),
  'oneway-1024': (seed, begin) => oneWay(1024, seed, begin),
  pingpong: pingPong,
  ring,
  spawn,
  switch: handOver,
};

if (isMainThread) {
  const option = { type: 'string' };
  const { values } = parseArgs({ options: { does: option, seed: option, seconds: option } });
  const begin = () => {
    console.log(JSON.stringify({ ready: true }));
    return new Account(Number(values.seconds));
  };
  WORKS[values.does](Number(values.seed), begin);
} else {
  parentPort.on('message', OTHERS[workerData.name](workerData.seed));
}
