"""What is the same in all works: the payloads, and the lines that tell of them."""

import argparse
import json
import os
import time
from pathlib import Path

INTERVAL_S = 0.2
# Units between two looks at the clock.
CLOCK_EVERY = 1_000


def following(x):
    """The payload after x: C++'s minstd_rand."""
    return x * 48271 % 2147483647


def after(total, payload):
    """The sum after one more payload, modulo 2^32. Each place weighs 31 times as much as the next,
    so that payloads in another order have another sum."""
    return (total * 31 + payload) & 0xFFFFFFFF


def payloads(x):
    while True:
        x = following(x)
        yield x


class Account:
    """What was received, which is told every now and then."""

    def __init__(self, seconds):
        self.done = 0
        self.sum = 0
        self.begun = time.monotonic()
        self.told_s = 0
        self.until_s = seconds

    def add(self, payload):
        """Counts a unit, and returns whether the work goes on."""
        self.done += 1
        self.sum = after(self.sum, payload)
        return self.done % CLOCK_EVERY != 0 or self.tell()

    def tell(self):
        """Prints what was done, if that is due, and returns whether the work goes on."""
        now_s = time.monotonic() - self.begun
        if now_s >= self.told_s + INTERVAL_S:
            line = {"t": round(now_s, 6), "done": self.done, "sum": self.sum}
            print(json.dumps(line), flush=True)
            self.told_s = now_s
        return self.told_s < self.until_s


async def main(works):
    """Does the work that the arguments say, and tells of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--does", choices=works, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args()
    print(json.dumps({"ready": True}), flush=True)
    result = await works[given.does](given.seed, Account(given.seconds))
    print(json.dumps({"result": result}), flush=True)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
