// JSON, as the language has it, and bytes as Node.js has them.
'use strict';

const { run } = require('../node/works.js');

const codec = {
  encode: (thing) => Buffer.from(JSON.stringify(thing)),
  decode: (bytes) => JSON.parse(bytes.toString()),
};

run(codec, codec);
