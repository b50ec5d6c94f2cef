import json
import sys
import time

given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
seconds = float(given["--seconds"])
# The study's own parameters stand beside these two: given["--NAME"].
payload, done, total = int(given["--seed"]), 0, 0


def tell(line):
    print(json.dumps(line), flush=True)


tell({"ready": True})
began = told = time.monotonic()
while told - began < seconds:
    # The clock is looked at once in many units, so that it isn't what is measured.
    for _ in range(1000):
        # Each unit has a number that follows from the one before.
        payload = payload * 48271 % 2147483647
        # FILL IN: this only sums the numbers. The study asks: {contract}
        total = (total + payload) % 4294967296
        done += 1
    now = time.monotonic()
    if now - told >= 0.2:
        told = now
        tell({"t": now - began, "done": done, "sum": total})
tell({"result": {}})
