"use strict";

const http = require("node:http");

const { HOST, PORT } = process.env;

// The study asks: {contract}
function answer(request, response) {
  // FILL IN: this answers 200 with the same text to every request.
  const body = "to be filled in\n";
  response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": body.length });
  response.end(body);
}

// One process uses one core: with more $CORES, look at node:cluster.
http.createServer(answer).listen({ host: HOST, port: Number(PORT), backlog: 4096 });
