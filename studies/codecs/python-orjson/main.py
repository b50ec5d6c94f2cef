"""JSON, with orjson."""

import orjson

from works import run

run((orjson.dumps, orjson.loads), (orjson.dumps, orjson.loads))
