// Protocol Buffers, with the types that protobuf.js makes of the schema when it starts.
'use strict';

const protobuf = require('protobufjs');

const { DEFAULT_TYPE, DEFAULT_TTL, run } = require('../node/works.js');

const schema = protobuf.loadSync(`${__dirname}/../schema/record.proto`);
const DnsRecord = schema.lookupType('codecs.DnsRecord');
const DnsResponse = schema.lookupType('codecs.DnsResponse');

function message({ key, value, type, ttl, first, last }) {
  const made = DnsRecord.create({ key, value, first, last });
  if (type !== DEFAULT_TYPE) {
    made.type = type;
  }
  if (ttl !== DEFAULT_TTL) {
    made.ttl = ttl;
  }
  return made;
}

function record({ key, value, type, ttl, first, last }) {
  return { key, value, type, ttl, first, last };
}

const one = {
  encode: (of) => DnsRecord.encode(message(of)).finish(),
  decode: (bytes) => record(DnsRecord.decode(bytes)),
};

const many = {
  encode: (records) => DnsResponse.encode(DnsResponse.create({ records: records.map(message) })).finish(),
  decode: (bytes) => DnsResponse.decode(bytes).records.map(record),
};

run(one, many);
