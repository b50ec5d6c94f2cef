"""Counts what a program made of its records: bytes a record, and those that deflate leaves.

All are counted by one deflate, since others make up to a tenth more of the same bytes.
"""

import argparse
import json
import zlib


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--does")
    parser.add_argument("--data")
    parser.add_argument("--at-once", type=int, required=True)
    parser.add_argument("--seed")
    parser.add_argument("--made", required=True)
    given = parser.parse_args()
    all_made = list(made(given.made))
    records = len(all_made) * given.at_once

    def each(of):
        return sum(map(len, of)) / records

    print(json.dumps({"bytes_each": each(all_made), "deflated_each": each(map(deflated, all_made))}))


main()
