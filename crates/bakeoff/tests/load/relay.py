"""A relay of frames that is sound, or lies in one way each so many messages.

    relay.py MODE EACH

Prints its port. Once its input closes, it prints what it did, and ends.

A frame is a length of two bytes and as many bytes. `J` and a room's number joins the room and comes
back. Any other frame goes to all members of its sender's room.
"""

import heapq
import json
import selectors
import socket
import sys
import time

MODE, EACH = sys.argv[1], int(sys.argv[2])
# Longer than the timeout of the test that has something come too late.
LATE_S = 3.0
LATE_MAX = 3

did = dict.fromkeys(
    ["messages", "missing", "duplicates", "out_of_order", "leaked", "wrong", "overdue", "cut"], 0
)
rooms = {}
room_of = {}
received = {}
held = {}
late = []
cut = set()
sent = 0

selector = selectors.DefaultSelector()
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
selector.register(listener, selectors.EVENT_READ)
selector.register(sys.stdin, selectors.EVENT_READ)


def send(to, frame):
    """Each seventh frame goes out in two pieces."""
    global sent
    sent += 1
    if to in cut or to.fileno() < 0:
        return
    at = sent % len(frame) if sent % 7 == 0 else len(frame)
    to.sendall(frame[:at])
    if frame[at:]:
        to.sendall(frame[at:])


def close(connection):
    selector.unregister(connection)
    connection.close()
    if connection in room_of and connection not in cut:
        rooms[room_of[connection]].remove(connection)


def take(speaker, frame):
    if frame[2:3] == b"J":
        room = frame[3:]
        rooms.setdefault(room, []).append(speaker)
        room_of[speaker] = room
        send(speaker, frame)
        return
    did["messages"] += 1
    members = rooms[room_of[speaker]]
    # What comes behind a message that is held goes to all: it is the later one.
    is_lie = did["messages"] % EACH == 0 and speaker not in held
    if is_lie and MODE == "swap":
        # Missing until it comes after all.
        did["missing"] += len(members)
        held[speaker] = frame
        return
    if is_lie and MODE == "cut" and not cut:
        cut.add(members[-1])
        did["cut"] += 1
        members[-1].shutdown(socket.SHUT_RDWR)
    for nth, member in enumerate(members):
        pass_on(is_lie, nth, len(members), member, frame)
    if is_lie and MODE == "leak":
        other = next(it for room, it in rooms.items() if room != room_of[speaker])
        for member in other:
            did["leaked"] += 1
            send(member, frame)
    if speaker in held:
        before = held.pop(speaker)
        for member in members:
            did["missing"] -= 1
            did["out_of_order"] += 1
            send(member, before)


def pass_on(is_lie, nth, of, member, frame):
    is_last, is_first = nth == of - 1, nth == 0
    if member in cut:
        did["missing"] += 1
    elif is_lie and MODE == "drop" or is_lie and is_last and MODE == "some":
        did["missing"] += 1
    elif is_lie and is_first and MODE == "twice":
        did["duplicates"] += 1
        send(member, frame)
        send(member, frame)
    elif is_lie and is_last and MODE == "bit":
        did["missing"] += 1
        did["wrong"] += 1
        send(member, frame[:-1] + bytes([frame[-1] ^ 1]))
    elif is_lie and is_first and MODE == "late" and did["missing"] < LATE_MAX:
        did["missing"] += 1
        heapq.heappush(late, (time.monotonic() + LATE_S, did["messages"], member, frame))
    else:
        send(member, frame)


def read(connection):
    try:
        bytes_ = connection.recv(65536)
    except ConnectionError:
        bytes_ = b""
    if not bytes_:
        close(connection)
        return
    buffer = received[connection]
    buffer += bytes_
    while len(buffer) > 2 and len(buffer) >= 2 + int.from_bytes(buffer[:2], "big"):
        end = 2 + int.from_bytes(buffer[:2], "big")
        frame = bytes(buffer[:end])
        del buffer[:end]
        take(connection, frame)


print(listener.getsockname()[1], flush=True)
while True:
    wait = max(0, late[0][0] - time.monotonic()) if late else None
    for key, _ in selector.select(wait):
        if key.fileobj is listener:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            received[connection] = bytearray()
            selector.register(connection, selectors.EVENT_READ)
        elif key.fileobj is sys.stdin:
            print(json.dumps(did), flush=True)
            sys.exit()
        else:
            read(key.fileobj)
    while late and late[0][0] <= time.monotonic():
        _, _, member, frame = heapq.heappop(late)
        did["overdue"] += member.fileno() >= 0
        send(member, frame)
