// What a message costs in Node.js: between two worker threads over the port that each has to the
// other, in a ring of ports of one thread, and between asynchronous functions.
'use strict';

const { once } = require('node:events');
const { parseArgs } = require('node:util');
const { MessageChannel, Worker } = require('node:worker_threads');

const { Account, DONE, after, end, following } = require('./account.js');

const RING = 1_000;
const BATCH = 10_000;

function other(name, seed) {
  return new Worker(require.resolve('./other.js'), { workerData: { name, seed } });
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
  return { x: payload, sum: after(sum, payload), done: done + 1 };
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
      account.sum = after(account.sum, payload);
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

const option = { type: 'string' };
const { values } = parseArgs({ options: { does: option, seed: option, seconds: option } });
const begin = () => {
  console.log(JSON.stringify({ ready: true }));
  return new Account(Number(values.seconds));
};
WORKS[values.does](Number(values.seed), begin);
