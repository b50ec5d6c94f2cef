"""Counts what a program made of its records: bytes a record, and those that deflate leaves.

All are counted by one deflate, since others make up to a tenth more of the same bytes.

Whatever their format, bytes that the records can be had from again have to be as many as the records
hold information. Who made fewer has left something out, and has no figure.
"""

import argparse
import json
import sys
import zlib

# The study's folder isn't the place for what Python makes of a module.
sys.dont_write_bytecode = True
from records import COUNT, records

# What is made of all records takes this share at least, deflated as one, of what their fields take
# with nothing around. Real formats take more than all of it.
SHARE_MIN = 0.8


def made(path):
    """What was encoded: each with its length before it, in four bytes, the highest first."""
    with open(path, "rb") as file:
        while begin := file.read(4):
            length = int.from_bytes(begin, "big")
            encoded = file.read(length)
            if len(begin) < 4 or len(encoded) < length:
                raise EOFError(f"{path} ends too early")
            yield encoded


def deflated(encoded):
    """Without the head and the sum that zlib puts around."""
    deflate = zlib.compressobj(level=6, wbits=-zlib.MAX_WBITS)
    return deflate.compress(encoded) + deflate.flush()


def fault(all_made, given):
    """Why this can't be what the records of the trial were encoded to."""
    if len(all_made) * given.at_once != COUNT:
        return f"{len(all_made)} times {given.at_once} records were encoded, not {COUNT}"
    fields = [str(field) for record in records(given.data, given.seed) for field in record]
    least = SHARE_MIN * len(deflated("".join(fields).encode()))
    if len(deflated(b"".join(all_made))) < least:
        return "fewer bytes were made than the records take"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--does")
    parser.add_argument("--data", required=True)
    parser.add_argument("--at-once", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--made", required=True)
    given = parser.parse_args()
    all_made = list(made(given.made))
    if why := fault(all_made, given):
        sys.exit(why)

    def each(of):
        return sum(map(len, of)) / COUNT

    print(json.dumps({"bytes_each": each(all_made), "deflated_each": each(map(deflated, all_made))}))


if __name__ == "__main__":
    main()
