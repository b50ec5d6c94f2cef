"""MessagePack."""

import msgpack

from works import run

run((msgpack.packb, msgpack.unpackb), (msgpack.packb, msgpack.unpackb))
