"use strict";
const net = require("node:net");

// The study asks: {contract}
//
// A frame is a length of two bytes, big-endian, and as many bytes. `J` and the number of a room join
// that room, and come back. Any other frame goes to all members of its sender's room.
const rooms = new Map(); // the members of each room, by its number

// Bytes that may wait for a robot: who reads so slowly that it is more is cut.
const WAITING_MAX = 1 << 20;

const J = "J".charCodeAt(0);

const gateway = net.createServer({ noDelay: true }, (robot) => {
  let room = null;
  let received = Buffer.alloc(0);

  robot.on("data", (data) => {
    received = received.length ? Buffer.concat([received, data]) : data;
    let at = 0;
    while (received.length - at >= 2) {
      const end = at + 2 + received.readUInt16BE(at);
      if (end > received.length) break;
      hear(received.subarray(at, end));
      at = end;
    }
    received = received.subarray(at);
  });

  function hear(frame) {
    if (frame.length === 7 && frame[2] === J) {
      leave();
      const number = frame.readUInt32BE(3);
      if (!rooms.has(number)) rooms.set(number, new Set());
      room = rooms.get(number).add(robot);
      send(robot, frame);
    } else if (room) {
      for (const member of room) send(member, frame);
    }
  }

  function leave() {
    if (room) room.delete(robot);
  }

  // An error is followed by `close`.
  robot.on("error", () => {});
  robot.on("close", leave);
});

function send(member, frame) {
  member.write(frame);
  if (member.writableLength > WAITING_MAX) member.destroy();
}

process.on("SIGTERM", () => process.exit(0));
gateway.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 });
