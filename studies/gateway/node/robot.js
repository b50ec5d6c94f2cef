'use strict';

// Bytes of a frame's length.
const LENGTH_BYTES = 2;
// Bytes of what joins a room: J and the room's number.
const JOIN_BYTES = 5;
const J = 'J'.charCodeAt(0);
// A robot for whom more bytes wait is cut.
const WAITING_MAX = 1 << 20;

// The members of those rooms in which there is somebody, by the rooms' numbers.
const rooms = new Map();

class Robot {
  constructor(socket) {
    this.socket = socket;
    // The beginning of a frame, if one was cut.
    this.cutFrame = null;
    this.number = null;
    // The members of its room; null before it has joined.
    this.room = null;
  }

  // Does what whole frames say. Those that came together and go to the same room go there
  // together, and all members share them.
  hear(came) {
    const bytes = this.cutFrame === null ? came : Buffer.concat([this.cutFrame, came]);
    let said = 0;
    let at = 0;
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = bytes.readUInt16BE(at);
      const end = at + LENGTH_BYTES + length;
      if (length === 0) {
        // A frame has a byte at least.
        this.cut();
        return;
      }
      if (end > bytes.length) {
        break;
      }
      if (length === JOIN_BYTES && bytes[at + LENGTH_BYTES] === J) {
        this.say(bytes.subarray(said, at));
        this.join(bytes.subarray(at, end));
        said = end;
      }
      at = end;
    }
    this.say(bytes.subarray(said, at));
    this.cutFrame = at < bytes.length ? bytes.subarray(at) : null;
  }

  // Its own words come back before any others.
  join(words) {
    this.leave();
    this.number = words.readUInt32BE(LENGTH_BYTES + 1);
    this.room = rooms.get(this.number);
    if (this.room === undefined) {
      this.room = new Set();
      rooms.set(this.number, this.room);
    }
    this.room.add(this);
    this.send(words);
  }

  leave() {
    if (this.room !== null) {
      this.room.delete(this);
      if (this.room.size === 0) {
        rooms.delete(this.number);
      }
      this.room = null;
    }
  }

  say(frames) {
    if (frames.length > 0 && this.room !== null) {
      for (const member of this.room) {
        member.send(frames);
      }
    }
  }

  // One that reads so slowly that too much waits for it is cut.
  send(frames) {
    this.socket.write(frames);
    if (this.socket.writableLength > WAITING_MAX) {
      this.cut();
    }
  }

  cut() {
    this.leave();
    this.socket.destroy();
  }
}

module.exports = { Robot };
