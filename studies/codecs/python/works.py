"""The study's works, with any codec. A record is a dict."""

import argparse
import json
import sys
import time

INTERVAL_S = 0.2
# Records between two looks at the clock.
CLOCK_EVERY = 1_000

DEFAULT_TYPE, DEFAULT_TTL = "A", 86_400
# In which keys end, and how many letters there are from it on.
FIRST_LETTER, LETTERS = "a", 16


def read(path):
    """The records of a file: a line each, with tabs between its fields."""
    with open(path, encoding="utf-8") as file:
        return [record(*line.rstrip("\n").split("\t")) for line in file]


def record(key, value, type_, first, last, ttl):
    return {"key": key, "value": value, "type": type_, "ttl": int(ttl), "first": first, "last": last}


def begin(text):
    return ord(text[0]) if text else 0


def end(text):
    return ord(text[-1]) if text else 0


def number(of):
    """What shows that each field was read. Each place weighs 31 times as much as the next."""
    so_far = of["ttl"]
    for text in of["value"], of["type"], of["first"], of["last"], of["key"]:
        so_far = (so_far * 31 + begin(text)) * 31 + end(text)
    return so_far


def change(record, letter):
    """What a round over all records changes: the letter in which each key ends."""
    record["key"] = record["key"][:-1] + letter


def one_of(thing):
    return [thing]


def all_of(records):
    return records


class Account:
    """What was done, which is told every now and then."""

    def __init__(self, seconds):
        self.done = 0
        self.sum = 0
        self.look_at = CLOCK_EVERY
        self.begun = time.monotonic()
        self.told_s = 0
        self.until_s = seconds

    def add(self, records):
        """Counts records, and returns whether the work goes on."""
        for record in records:
            self.done += 1
            self.sum = (self.sum * 31 + number(record)) & 0xFFFFFFFF
        if self.done < self.look_at:
            return True
        self.look_at += CLOCK_EVERY
        return self.tell()

    def tell(self):
        now_s = time.monotonic() - self.begun
        if now_s >= self.told_s + INTERVAL_S:
            line = {"t": round(now_s, 6), "done": self.done, "sum": self.sum}
            print(json.dumps(line), flush=True)
            self.told_s = now_s
        # Until it was told of at its end.
        return self.told_s < self.until_s


def store(path, encoded):
    """Writes what was encoded, each with its length before it: four bytes, the highest first."""
    with open(path, "wb") as file:
        for each in encoded:
            file.write(len(each).to_bytes(4, "big") + each)


def stored(path):
    with open(path, "rb") as file:
        while length := file.read(4):
            yield file.read(int.from_bytes(length, "big"))


def checked(thing, encode, decode):
    """What it is encoded, once it is known to be the same after the round trip."""
    encoded = encode(thing)
    if decode(encoded) != thing:
        sys.exit(f"it isn't the same after the round trip: {thing}")
    return encoded


def between(encoded, thing, encode, records_of):
    """What is encoded, cut where it has the letters that a round changes: there the bytes of
    another letter differ."""
    for record in records_of(thing):
        change(record, chr(ord(FIRST_LETTER) + 1))
    other = encode(thing)
    for record in records_of(thing):
        change(record, FIRST_LETTER)
    places = [place for place, pair in enumerate(zip(encoded, other)) if len(set(pair)) > 1]
    if len(encoded) != len(other) or len(places) != len(records_of(thing)):
        sys.exit(f"another letter isn't one other byte: {thing}")
    begins = [0, *(place + 1 for place in places)]
    return [encoded[begin:end] for begin, end in zip(begins, [*places, len(encoded)])]


def letters(x):
    """A letter a round, by its payload: C++'s minstd_rand."""
    while True:
        x = x * 48271 % 2147483647
        yield chr(ord(FIRST_LETTER) + x % LETTERS)


def run(one, many):
    """Does what the arguments say, with the codec of a record and that of a list of records:
    each two functions, one to bytes and one from them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--does", choices=["encode", "decode", "both"])
    parser.add_argument("--made", metavar="FILE")
    parser.add_argument("--decode-from", metavar="FILE")
    parser.add_argument("--data")
    parser.add_argument("--at-once", type=int, required=True)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--records", required=True)
    given = parser.parse_args()
    things, (encode, decode), records_of = read(given.records), one, one_of
    if given.at_once > 1:
        begins = range(0, len(things), given.at_once)
        things = [things[begin : begin + given.at_once] for begin in begins]
        (encode, decode), records_of = many, all_of
    if given.decode_from:
        if [decode(each) for each in stored(given.decode_from)] != things:
            sys.exit(f"{given.decode_from} doesn't decode to the records")
        return
    encoded = [checked(thing, encode, decode) for thing in things]
    if given.made:
        store(given.made, encoded)
    if not given.does:
        return

    def only_encode(place):
        encode(things[place])
        return things[place]

    works = {
        "encode": only_encode,
        "decode": lambda place: decode(encoded[place]),
        "both": lambda place: decode(encode(things[place])),
    }
    work = works[given.does]
    pieces = [between(*both, encode, records_of) for both in zip(encoded, things)]
    rounds = letters(given.seed)

    def begin_round():
        """No round has what was done in the last one."""
        letter = next(rounds)
        for place, thing in enumerate(things):
            if given.does == "decode":
                encoded[place] = letter.encode().join(pieces[place])
                continue
            for record in records_of(thing):
                change(record, letter)

    print(json.dumps({"ready": True}), flush=True)
    account = Account(given.seconds)
    begin_round()
    place = 0
    while account.add(records_of(work(place))):
        place = (place + 1) % len(things)
        if place == 0:
            begin_round()
    print(json.dumps({"result": {}}), flush=True)
