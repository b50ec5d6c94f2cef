import asyncio
import os
import signal
import sys
import time
import zlib

# The study asks: {contract}
#
# All values are in memory, and each change is in a log as well, which is read at the start. What is
# acknowledged survives the store's own crash. It is written to the kernel, and not synced: a stop of
# the machine may take it. `bakeoff durability {typed}` shows that.
values = {}  # a key's value, and when it is over, or None
log = open(os.path.join(sys.argv[1], "log"), "a+b", buffering=0)


def read_log():
    log.seek(0)
    whole, at = log.read(), 0
    while at + 20 <= len(whole):
        lengths, check = whole[at : at + 16], whole[at + 16 : at + 20]
        key, value = (int.from_bytes(part, "big") for part in (lengths[:4], lengths[4:8]))
        over = int.from_bytes(lengths[8:], "big")
        end = at + 20 + key + value
        text = whole[at + 20 : end]
        # What was being written when the store was cut off ends the log.
        if len(text) < key + value or zlib.crc32(lengths + text) != int.from_bytes(check, "big"):
            break
        change(text[:key], text[key:], over)
        at = end
    log.truncate(at)


# `over` is in milliseconds since 1970: 0 is never, 1 is long ago, for a key that was removed.
def change(key, value, over):
    if over == 1:
        values.pop(key, None)
    else:
        values[key] = value, over


def record(key, value, over):
    lengths = len(key).to_bytes(4, "big") + len(value).to_bytes(4, "big") + over.to_bytes(8, "big")
    check = zlib.crc32(lengths + key + value).to_bytes(4, "big")
    return lengths + check + key + value


def get(key):
    value, over = values.get(key, (None, 0))
    if over and over <= time.time() * 1000:
        del values[key]
        return None
    return value


def bulk(value):
    return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.received = bytearray()

    # Commands that came together are answered together, after one write to the log.
    def data_received(self, data):
        self.received += data
        answers, self.records, at = [], [], 0
        try:
            while (found := words(self.received, at)) is not None:
                command, at = found
                answers.append(self.answer(command))
        except ValueError as error:
            answers.append(b"-ERR %s\r\n" % str(error).encode())
            self.transport.write(b"".join(answers))
            self.transport.close()
            return
        del self.received[:at]
        if self.records:
            log.write(b"".join(self.records))
        self.transport.write(b"".join(answers))

    def answer(self, command):
        name, *rest = command
        name = name.upper()
        if name == b"GET" and len(rest) == 1:
            return bulk(get(rest[0]))
        if name == b"MGET" and rest:
            return b"*%d\r\n%s" % (len(rest), b"".join(bulk(get(key)) for key in rest))
        if name == b"SET" and (len(rest) == 2 or len(rest) == 4 and rest[2].upper() == b"EX"):
            over = int(time.time() * 1000) + int(rest[3]) * 1000 if len(rest) == 4 else 0
            self.keep(rest[0], rest[1], over)
            return b"+OK\r\n"
        if name == b"DEL" and len(rest) == 1:
            was_there = get(rest[0]) is not None
            if was_there:
                self.keep(rest[0], b"", 1)
            return b":%d\r\n" % was_there
        if name == b"DBSIZE":
            return b":%d\r\n" % len(values)
        # It throws no value away.
        if name == b"INFO":
            return bulk(b"evicted_keys:0\r\n")
        return b"-ERR unknown command\r\n"

    def keep(self, key, value, over):
        change(key, value, over)
        self.records.append(record(key, value, over))


# The words of the command that begins here and where the next one begins; None until it is whole.
def words(received, at):
    count, at = number(received, at, b"*")
    if count is None:
        return None
    command = []
    for _ in range(count):
        length, at = number(received, at, b"$")
        if length is None or len(received) < at + length + 2:
            return None
        command.append(bytes(received[at : at + length]))
        at += length + 2
    return command, at


def number(received, at, kind):
    end = received.find(b"\r\n", at)
    if end < 0:
        return None, at
    if received[at : at + 1] != kind or not received[at + 1 : end].isdigit():
        raise ValueError("this is no command")
    return int(received[at + 1 : end]), end + 2


async def serve():
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    await loop.create_server(
        Connection, os.environ["HOST"], int(os.environ["PORT"]), backlog=4096
    )
    await ended.wait()


read_log()
asyncio.run(serve())
