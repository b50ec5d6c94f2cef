"""Protocol Buffers, with the module that its compiler makes of the schema."""

from record_pb2 import DnsRecord, DnsResponse
from works import DEFAULT_TTL, DEFAULT_TYPE, run


def message(record):
    made = DnsRecord(
        key=record["key"], value=record["value"], first=record["first"], last=record["last"]
    )
    if record["type"] != DEFAULT_TYPE:
        made.type = record["type"]
    if record["ttl"] != DEFAULT_TTL:
        made.ttl = record["ttl"]
    return made


def record(made):
    return {
        "key": made.key,
        "value": made.value,
        "type": made.type,
        "ttl": made.ttl,
        "first": made.first,
        "last": made.last,
    }


def encode(of):
    return message(of).SerializeToString()


def decode(encoded):
    return record(DnsRecord.FromString(encoded))


def encode_all(records):
    return DnsResponse(records=map(message, records)).SerializeToString()


def decode_all(encoded):
    return [record(made) for made in DnsResponse.FromString(encoded).records]


run((encode, decode), (encode_all, decode_all))
