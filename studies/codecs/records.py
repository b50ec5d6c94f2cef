"""Makes the records of a trial: rows of a passive DNS, as in 2009.

It prints a line a record, its fields set apart by tabs: its number, then key, value, type,
first, last, ttl. The number comes from the ttl, and from the code points with which each text begins
and ends (0 of one that is empty): see `number`.

Each key ends in FIRST_LETTER. A round over all records writes another letter there.
"""

import argparse
import random
import sys

COUNT = 1_000
TYPES = ["AAAA", "CNAME", "MX", "NS", "SOA", "TXT"]
TTL_MAX = 604_800
# What a schema has for a field that isn't sent.
DEFAULT_TYPE, DEFAULT_TTL = "A", 86_400
ASCII = "abcdefghijklmnopqrstuvwxyz0123456789"
# Letters of two bytes, of three and of four.
UTF8 = "äöüßñéλπωжшя中文字例え域😀🚀"
# The bytes that the four plain texts had in 2009, together.
TEXT_OF_2009 = 69
FIRST_LETTER = "a"


def word(chance, letters, shortest, longest):
    return "".join(chance.choices(letters, k=chance.randint(shortest, longest)))


def name(chance, letters):
    return f"{word(chance, letters, 4, 12)}.{word(chance, letters, 4, 10)}.example"


def address(chance):
    return ".".join(str(chance.randint(0, 255)) for _ in range(4))


def moment(chance):
    day = f"{chance.randint(2000, 2009)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return f"{day} {chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"


def defaults(chance):
    """Whatever has a default is at it."""
    return name(chance, ASCII), address(chance), DEFAULT_TYPE, "", "", DEFAULT_TTL


def full(chance, letters=ASCII):
    """Nothing is at its default."""
    ttl = chance.choice([chance.randint(1, DEFAULT_TTL - 1), chance.randint(DEFAULT_TTL + 1, TTL_MAX)])
    names = name(chance, letters), name(chance, letters)
    return *names, chance.choice(TYPES), moment(chance), moment(chance), ttl


def utf8(chance):
    return full(chance, UTF8)


def shape_2009(chance):
    """Of the sizes that 2009's have: type is sent, and the ttl takes two bytes as a varint."""
    value, first, last = address(chance), moment(chance), moment(chance)
    left = TEXT_OF_2009 - len(value) - len(first) - len(last)
    return word(chance, ASCII, left, left), value, "B", first, last, chance.randint(128, 16_383)


SETS = {"defaults": defaults, "full": full, "utf8": utf8, "shape-2009": shape_2009}


def number(key, value, type_, first, last, ttl):
    """Each place weighs 31 times as much as the next, so that fields that were swapped have another
    number. The last letter of the key comes last: the number is larger by as much as that is."""
    so_far = ttl
    for text in (value, type_, first, last, key):
        for letter in (text[:1], text[-1:]):
            so_far = so_far * 31 + (ord(letter) if letter else 0)
    return so_far % 2**32


def record(make, chance):
    key, *others = make(chance)
    return key[:-1] + FIRST_LETTER, *others


def records(data, seed):
    chance = random.Random(seed)
    # A dict keeps their order, and each of them once.
    all_records = {}
    while len(all_records) < COUNT:
        all_records[record(SETS[data], chance)] = None
    return list(all_records)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--does")
    parser.add_argument("--data", choices=SETS, required=True)
    parser.add_argument("--at-once")
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    for fields in records(given.data, given.seed):
        print(number(*fields), *fields, sep="\t")


if __name__ == "__main__":
    main()
