import asyncio
import os
import signal

# The study asks: {contract}
#
# A frame is a length of two bytes, big-endian, and as many bytes. `J` and the number of a room join
# that room, and come back. Any other frame goes to all members of its sender's room.
rooms = {}  # the members of each room, by its number

# Bytes that may wait for a robot: who reads so slowly that it is more is cut.
WAITING_MAX = 1 << 20


class Robot(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        transport.set_write_buffer_limits(high=WAITING_MAX)
        self.received = b""
        self.room = None

    def connection_lost(self, error):
        rooms.get(self.room, set()).discard(self)

    def pause_writing(self):
        self.transport.abort()

    def data_received(self, data):
        self.received += data
        while len(self.received) >= 2:
            end = 2 + int.from_bytes(self.received[:2], "big")
            if len(self.received) < end:
                break
            frame, self.received = self.received[:end], self.received[end:]
            if len(frame) == 7 and frame[2:3] == b"J":
                self.join(frame)
            else:
                for member in rooms.get(self.room, ()):
                    member.transport.write(frame)

    def join(self, frame):
        rooms.get(self.room, set()).discard(self)
        self.room = frame[3:]
        rooms.setdefault(self.room, set()).add(self)
        self.transport.write(frame)


async def serve():
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    await loop.create_server(Robot, os.environ["HOST"], int(os.environ["PORT"]), backlog=4096)
    await ended.wait()


asyncio.run(serve())
