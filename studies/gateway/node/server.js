// A gateway of rooms on node:net, as its documentation shows a server.
'use strict';

const net = require('node:net');
const { Robot } = require('./robot.js');

const { HOST, PORT } = process.env;

// The default backlog of 511 overflows when thousands connect at once. The kernel
// cuts it to net.core.somaxconn, 4,096 on Debian 12.
const BACKLOG = 8192;

function serve(socket) {
  const robot = new Robot(socket);
  socket.on('data', (bytes) => robot.hear(bytes));
  // A connection that breaks is its robot's affair; `close` follows.
  socket.on('error', () => {});
  socket.on('close', () => robot.leave());
}

const server = net.createServer({ noDelay: true }, serve);
server.listen({ host: HOST, port: Number(PORT), backlog: BACKLOG });
