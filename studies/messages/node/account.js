// What is the same in all works: the payloads, and the lines that tell of them.
'use strict';

const INTERVAL_MS = 200;
// Units between two looks at the clock.
const CLOCK_EVERY = 1_000;
// What ends a round, and what asks for the next. No payload is 0.
const DONE = 0;

// The payload after x: C++'s minstd_rand.
function following(x) {
  return (x * 48271) % 2147483647;
}

// The sum after one more payload, modulo 2^32. Each place weighs 31 times as much as the next, so that
// payloads in another order have another sum. Below 2^53 all of it is exact.
function after(sum, payload) {
  return (sum * 31 + payload) % 2 ** 32;
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
    this.sum = after(this.sum, payload);
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

function end(result) {
  console.log(JSON.stringify({ result }));
  process.exit();
}

module.exports = { Account, DONE, after, end, following };
