// Protocol Buffers, with the classes that its compiler makes of the schema.

#include <stdexcept>
#include <string>

#include "../cpp/works.hpp"
#include "record.pb.h"

using works::Row;
using works::Rows;

namespace {

void fill(codecs::DnsRecord& message, Row const& row) {
    message.set_key(row.key);
    message.set_value(row.value);
    if (row.type != works::default_type) {
        message.set_type(row.type);
    }
    if (row.ttl != works::default_ttl) {
        message.set_ttl(row.ttl);
    }
    message.set_first(row.first);
    message.set_last(row.last);
}

Row row_of(codecs::DnsRecord const& message) {
    return {message.key(), message.value(), message.type(),
            message.ttl(), message.first(), message.last()};
}

template <typename Message>
Message parsed(std::string const& bytes) {
    Message message;
    if (!message.ParseFromString(bytes)) {
        throw std::runtime_error("these bytes are no message");
    }
    return message;
}

std::string encode(Row const& row) {
    codecs::DnsRecord message;
    fill(message, row);
    return message.SerializeAsString();
}

Row decode(std::string const& bytes) { return row_of(parsed<codecs::DnsRecord>(bytes)); }

std::string encode_all(Rows const& rows) {
    codecs::DnsResponse message;
    for (auto const& row : rows) {
        fill(*message.add_records(), row);
    }
    return message.SerializeAsString();
}

Rows decode_all(std::string const& bytes) {
    auto const message = parsed<codecs::DnsResponse>(bytes);
    Rows rows;
    rows.reserve(static_cast<std::size_t>(message.records_size()));
    for (auto const& record : message.records()) {
        rows.push_back(row_of(record));
    }
    return rows;
}

}  // namespace

int main(int count, char** words) {
    return works::run(count, words, {encode, decode}, {encode_all, decode_all});
}
