#!/usr/bin/python3
"""redis-py in a pool of threads, as a client of bakeoff.

It hears and tells what bakeoff's own client does (crates/load/src/client.rs): a plan comes in
as a line of JSON, seconds and an outcome go out. It gets keys that are all there, in a closed
loop, with a thread a connection. Times are in nanoseconds.
"""

import base64
import json
import random
import struct
import sys
import threading
import time
import zlib

import redis

NS_A_SECOND = 1_000_000_000
LONGEST_NS = 2 * 86_400 * NS_A_SECOND


class Asker(threading.Thread):
    """One thread of the pool, and what it saw."""

    def __init__(self, client, plan, begins, ends):
        super().__init__(daemon=True)
        self.client = client
        self.keys = plan["work"]["keys"]["count"]
        self.random = random.Random(plan["seed"] + threading.active_count())
        self.begins, self.ends = begins, ends
        # Of each answer: when it came, how long it took, whether it had a value, its bytes.
        self.answers = []
        self.errors = []
        self.spent = {}

    def run(self):
        self.spent["start"] = spent()
        now = time.monotonic_ns()
        while now < self.ends:
            if now >= self.begins and "begin" not in self.spent:
                self.spent["begin"] = spent()
            key = "key:%012d" % self.random.randrange(self.keys)
            sent = now
            try:
                value = self.client.get(key)
                now = time.monotonic_ns()
                self.answers.append((sent, now, value is not None, len(value or b"")))
            except redis.RedisError as error:
                now = time.monotonic_ns()
                self.errors.append((sent, now, str(error)))
        self.spent["end"] = spent()
        self.spent.setdefault("begin", self.spent["end"])

    def use(self, seconds):
        """What the thread spent within the window."""
        used = [end - begin for begin, end in zip(self.spent["begin"], self.spent["end"])]
        user, system, waited = used
        return {
            "backend": "threads",
            "cpu": None,
            "user_s": user,
            "system_s": system,
            "busy_share": min(1.0, (user + system) / seconds),
            "run_delay_share": min(1.0, waited / seconds),
            "away_s": 0.0,
        }


def spent():
    """CPU seconds of this thread, in user mode and in the kernel, and those for which it was
    ready to run and waited for a processor."""
    task = "/proc/self/task/%d/" % threading.get_native_id()
    with open(task + "schedstat") as file:
        ran, waited = [int(word) / NS_A_SECOND for word in file.read().split()[:2]]
    with open(task + "stat") as file:
        ticks = [int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13]]
    # The kernel splits what ran by ticks, which are coarse.
    system = ran * ticks[1] / max(1, sum(ticks))
    return ran - system, system, waited


def histogram(times):
    """HdrHistogram's V2 format, compressed, in Base64: 3 digits, from 1 ns to two days."""
    counts = {}
    for value in times:
        shift = max(0, (value | 2047).bit_length() - 11)
        index = (shift << 10) + (value >> shift)
        counts[index] = counts.get(index, 0) + 1
    payload, last = b"", -1
    for index in sorted(counts):
        # Numbers below 0 are so many counts of 0.
        if index > last + 1:
            payload += zigzag(last + 1 - index)
        payload += zigzag(counts[index])
        last = index
    head = struct.pack(">Iiiiqqd", 0x1C849313, len(payload), 0, 3, 1, LONGEST_NS, 1.0)
    packed = zlib.compress(head + payload)
    return base64.b64encode(struct.pack(">Ii", 0x1C849314, len(packed)) + packed).decode()


def zigzag(number):
    """A number as zigzag LEB128."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def duration(ns):
    return {"secs": ns // NS_A_SECOND, "nanos": ns % NS_A_SECOND}


def ns_of(duration):
    return duration["secs"] * NS_A_SECOND + duration["nanos"]


def account(answers, errors, since):
    kinds = []
    if errors:
        first = {"first_s": max(0, errors[0][0] - since) / NS_A_SECOND, "example": errors[0][2][:200]}
        kinds.append({"kind": "client", "count": len(errors), **first})
    missing = [it for it in answers if not it[2]]
    if missing:
        first = {"first_s": max(0, missing[0][0] - since) / NS_A_SECOND, "example": "a get found nothing"}
        kinds.append({"kind": "missing", "count": len(missing), **first})
    sent = len(answers) + len(errors)
    good = len(answers) - len(missing)
    return {
        "scheduled": sent,
        "shed": 0,
        "sent": sent,
        "good": good,
        "errors": kinds,
        "in_flight": 0,
    }


def second_of(answers, errors):
    times = sorted(it[1] - it[0] for it in answers if it[2])
    at = lambda share: times[int(share * (len(times) - 1))] / 1e3 if times else None
    good = {"good": len(times), "bytes": sum(it[3] for it in answers)}
    return {**good, "errors": len(errors), "p50_us": at(0.5), "p99_us": at(0.99)}


def outcome(plan, askers, begins, ends):
    answers = sorted((it for asker in askers for it in asker.answers), key=lambda it: it[1])
    errors = sorted((it for asker in askers for it in asker.errors), key=lambda it: it[1])
    within = lambda all: [it for it in all if it[0] >= begins]
    before = lambda all: [it for it in all if it[0] < begins]
    measured, failed = within(answers), within(errors)
    done = [it for it in answers if begins <= it[1] < ends and it[2]]
    seconds = []
    for start in range(begins, ends, NS_A_SECOND):
        part = lambda all: [it for it in all if start <= it[1] < min(start + NS_A_SECOND, ends)]
        seconds.append(second_of(part(answers), part(errors)))
    hits = sum(it[2] for it in answers)
    slots = [sum(it[0] >= begins and it[2] for it in asker.answers) for asker in askers]
    none = histogram([])
    took = {
        "good": histogram(it[1] - it[0] for it in measured if it[2]),
        "censored": histogram(it[1] - it[0] for it in failed),
    }
    return {
        "account": account(measured, failed, begins),
        "warmup": account(before(answers), before(errors), begins - ns_of(plan["warmup"])),
        "window_began": duration(begins),
        "window": duration(ends - begins),
        "answers_in_window": len(done),
        "bytes_received": sum(it[3] for it in done),
        "bytes_sent": 0,
        "response": took,
        "service": took,
        "lateness": none,
        "connection_wait": none,
        "connect": none,
        "opening": none,
        "seen_late": none,
        "connections": {
            "asked": plan["connections"],
            "established": len(askers),
            "reconnects": 0,
            "cut": 0,
            "resent": 0,
            "failed": 0,
            "syn_retransmits": 0,
            "made_in_window": 0,
            "syn_retransmits_in_window": 0,
            "answers_min": min(slots),
            "answers_max": max(slots),
            "unanswered": sum(answers == 0 for answers in slots),
        },
        "firsts": {},
        "seconds": seconds,
        "sampled_answers": [],
        "keys": {
            "hits": hits,
            "misses": 0,
            "missing": len(answers) - hits,
            "wrong": 0,
            "stale": 0,
        },
        "classes": [{"name": "get", "response": took, "service": took}],
        "threads": [asker.use((ends - begins) / NS_A_SECOND) for asker in askers],
        "backend": "redis-py %s, %d threads" % (redis.__version__, len(askers)),
        "interrupted": False,
    }


def tell(word, what):
    print(json.dumps({word: what}), flush=True)


def main():
    plan = json.loads(sys.stdin.readline())["plan"]
    host, port = plan["target"]["address"].rsplit(":", 1)
    count = plan["connections"]
    pool = redis.BlockingConnectionPool(host=host, port=int(port), max_connections=count)
    client = redis.Redis(connection_pool=pool)
    tell("ready", None)
    at = json.loads(sys.stdin.readline())["start"]
    start = ns_of(at)
    begins = start + ns_of(plan["warmup"])
    ends = begins + ns_of(plan["until"]["elapsed"])
    askers = [Asker(client, plan, begins, ends) for _ in range(count)]
    for asker in askers:
        asker.start()
    for at in [*range(begins, ends, NS_A_SECOND), ends]:
        time.sleep(max(0, at - time.monotonic_ns()) / NS_A_SECOND)
        # What a second had is told with the outcome: to count it now would take the pool's time.
        second = {"elapsed_s": (at - start) / NS_A_SECOND, "warming_up": at <= begins}
        tell("second", {**second, "second": second_of([], []), "errors": 0})
    for asker in askers:
        asker.join()
    tell("ended", outcome(plan, askers, begins, ends))
    # Until nobody wants to know any more what it used.
    sys.stdin.read()


main()
