"""A gateway of rooms on asyncio's transports and protocols."""

import asyncio
import os
import socket

# Bytes of a frame's length.
LENGTH_BYTES = 2
# Bytes of what joins a room: J and the room's number.
JOIN_BYTES = 5
J = ord("J")
# A robot for whom more bytes wait is cut.
WAITING_MAX = 1 << 20
# The kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
BACKLOG = 8192

# The members of those rooms in which there is somebody, by the rooms' numbers.
rooms = {}


class Robot(asyncio.Protocol):
    """A robot's connection. TCP_NODELAY is set by the event loop."""

    def __init__(self):
        self.transport = None
        # The beginning of a frame, if one was cut.
        self.cut_frame = b""
        # None before it has joined.
        self.room = None

    def connection_made(self, transport):
        self.transport = transport
        transport.set_write_buffer_limits(high=WAITING_MAX)

    def connection_lost(self, error):
        self.leave()

    def pause_writing(self):
        """It reads so slowly that too much waits for it."""
        self.transport.abort()

    def data_received(self, data):
        """Does what whole frames say. Those that came together and go to the same room go there
        together, and all members share them."""
        if self.cut_frame:
            data = self.cut_frame + data
        said = at = 0
        while len(data) - at >= LENGTH_BYTES:
            length = int.from_bytes(data[at : at + LENGTH_BYTES], "big")
            end = at + LENGTH_BYTES + length
            if length == 0:
                # A frame has a byte at least.
                self.transport.abort()
                return
            if end > len(data):
                break
            if length == JOIN_BYTES and data[at + LENGTH_BYTES] == J:
                self.say(data[said:at])
                self.join(data[at:end])
                said = end
            at = end
        self.say(data[said:at])
        self.cut_frame = data[at:]

    def join(self, words):
        """Its own words come back before any others."""
        self.leave()
        self.room = words[LENGTH_BYTES + 1 :]
        rooms.setdefault(self.room, set()).add(self)
        self.transport.write(words)

    def leave(self):
        if self.room is not None:
            members = rooms[self.room]
            members.remove(self)
            if not members:
                del rooms[self.room]
            self.room = None

    def say(self, frames):
        if frames and self.room is not None:
            for member in rooms[self.room]:
                member.transport.write(frames)


async def serve():
    loop = asyncio.get_running_loop()
    host, port = os.environ["HOST"], int(os.environ["PORT"])
    with socket.create_server((host, port)) as listener:
        server = await loop.create_server(Robot, sock=listener)
        # Not asyncio's `backlog`, which is also how often it tries to accept at once: where no
        # more files may be open it logs a failure for each.
        listener.listen(BACKLOG)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
