// A hello-world server on node:http, as its documentation shows one; on several
// cores a process for each, as the documentation of node:cluster shows them.
'use strict';

const cluster = require('node:cluster');
const { randomBytes } = require('node:crypto');
const http = require('node:http');

const { HOST, PORT, CORES } = process.env;

// The default backlog of 511 overflows when thousands connect at once. The kernel
// cuts it to net.core.somaxconn, 4,096 on Debian 12.
const BACKLOG = 8192;

// Safe to echo into any kind of text.
const ID = /^[0-9A-Za-z]{1,64}$/;

function hello(request, response) {
  if (!request.url.startsWith('/')) {
    // A target for a proxy, or one like *:99999, which would make no URL below: what is
    // thrown here ends the process.
    answer(response, 400, 'bad request\n');
    return;
  }
  // Put together, not resolved: as a reference, // would be no URL.
  const url = new URL(`http://${HOST}${request.url}`);
  if (url.pathname !== '/hello') {
    answer(response, 404, 'not found\n');
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    answer(response, 405, 'method not allowed\n', { Allow: 'GET, HEAD' });
  } else {
    const id = url.searchParams.get('id');
    if (id !== null && ID.test(id)) {
      const number = randomBytes(16).toString('hex');
      answer(response, 200, `hello ${id}, your random number is ${number}\n`);
    } else {
      answer(response, 400, 'the id has to be 1 to 64 letters and digits\n');
    }
  }
}

function answer(response, status, body, headers) {
  response.writeHead(status, {
    'Content-Type': 'text/plain',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

if (cluster.isPrimary && Number(CORES) > 1) {
  for (let core = 0; core < Number(CORES); core++) {
    cluster.fork();
  }
} else {
  http.createServer(hello).listen({ host: HOST, port: Number(PORT), backlog: BACKLOG });
}
