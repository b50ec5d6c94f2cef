"""JSON, with the standard library's module."""

import json

from works import run


def encode(thing):
    return json.dumps(thing).encode()


run((encode, json.loads), (encode, json.loads))
