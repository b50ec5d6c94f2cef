// Cap'n Proto, with the classes that its compiler makes of the schema.

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/io.h>

#include <cstddef>
#include <string>

#include "../cpp/works.hpp"
#include "record.capnp.h"

using codecs::DnsRecord;
using codecs::DnsResponse;
using works::Row;
using works::Rows;

namespace {

void fill(DnsRecord::Builder record, Row const& row) {
    record.setKey(row.key);
    record.setValue(row.value);
    if (row.type != works::default_type) {
        record.setType(row.type);
    }
    record.setTtl(row.ttl);
    record.setFirst(row.first);
    record.setLast(row.last);
}

std::string bytes_of(capnp::MessageBuilder& message) {
    std::string bytes(capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word), '\0');
    kj::ArrayOutputStream stream{kj::arrayPtr(bytes.data(), bytes.size()).asBytes()};
    capnp::writeMessage(stream, message);
    return bytes;
}

/// A message in bytes, which are where the allocator put them: at a word's boundary.
capnp::FlatArrayMessageReader reader_of(std::string const& bytes) {
    auto const* words = reinterpret_cast<capnp::word const*>(bytes.data());
    return capnp::FlatArrayMessageReader{{words, bytes.size() / sizeof(capnp::word)}};
}

std::string text_of(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

Row row_of(DnsRecord::Reader record) {
    return {text_of(record.getKey()), text_of(record.getValue()), text_of(record.getType()),
            record.getTtl(),          text_of(record.getFirst()), text_of(record.getLast())};
}

std::string encode(Row const& row) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<DnsRecord>(), row);
    return bytes_of(message);
}

Row decode(std::string const& bytes) {
    auto reader = reader_of(bytes);
    return row_of(reader.getRoot<DnsRecord>());
}

std::string encode_all(Rows const& rows) {
    capnp::MallocMessageBuilder message;
    auto records = message.initRoot<DnsResponse>().initRecords(static_cast<unsigned>(rows.size()));
    for (unsigned at = 0; at < records.size(); ++at) {
        fill(records[at], rows[at]);
    }
    return bytes_of(message);
}

Rows decode_all(std::string const& bytes) {
    auto reader = reader_of(bytes);
    auto const records = reader.getRoot<DnsResponse>().getRecords();
    Rows rows;
    rows.reserve(records.size());
    for (auto record : records) {
        rows.push_back(row_of(record));
    }
    return rows;
}

}  // namespace

int main(int count, char** words) {
    return works::run(count, words, {encode, decode}, {encode_all, decode_all});
}
