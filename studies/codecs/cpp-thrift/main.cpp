// Thrift's binary protocol, with the classes that its compiler makes of the schema.

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../cpp/works.hpp"
#include "record_types.h"

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TMemoryBuffer;
using works::Row;
using works::Rows;

namespace {

codecs::DnsRecord message_of(Row const& row) {
    codecs::DnsRecord message;
    message.__set_key(row.key);
    message.__set_value(row.value);
    message.__set_type(row.type);
    message.__set_ttl(row.ttl);
    message.__set_first(row.first);
    message.__set_last(row.last);
    return message;
}

Row row_of(codecs::DnsRecord const& message) {
    return {message.key, message.value, message.type, message.ttl, message.first, message.last};
}

template <typename Message>
std::string bytes_of(Message const& message) {
    auto const buffer = std::make_shared<TMemoryBuffer>();
    TBinaryProtocol protocol{buffer};
    message.write(&protocol);
    return buffer->getBufferAsString();
}

template <typename Message>
Message parsed(std::string const& bytes) {
    // It only observes them, though its type would let it write.
    auto* data = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    auto const size = static_cast<std::uint32_t>(bytes.size());
    TBinaryProtocol protocol{std::make_shared<TMemoryBuffer>(data, size)};
    Message message;
    message.read(&protocol);
    return message;
}

std::string encode(Row const& row) { return bytes_of(message_of(row)); }

Row decode(std::string const& bytes) { return row_of(parsed<codecs::DnsRecord>(bytes)); }

std::string encode_all(Rows const& rows) {
    codecs::DnsResponse message;
    message.records.reserve(rows.size());
    for (auto const& row : rows) {
        message.records.push_back(message_of(row));
    }
    return bytes_of(message);
}

Rows decode_all(std::string const& bytes) {
    auto const message = parsed<codecs::DnsResponse>(bytes);
    Rows rows;
    rows.reserve(message.records.size());
    for (auto const& record : message.records) {
        rows.push_back(row_of(record));
    }
    return rows;
}

}  // namespace

int main(int count, char** words) {
    return works::run(count, words, {encode, decode}, {encode_all, decode_all});
}
