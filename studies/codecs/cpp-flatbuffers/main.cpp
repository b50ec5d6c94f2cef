// FlatBuffers, with the classes that its compiler makes of the schema.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../cpp/works.hpp"
#include "record_generated.h"

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using works::Row;
using works::Rows;

namespace {

Offset<codecs::DnsRecord> put(FlatBufferBuilder& builder, Row const& row) {
    auto const key = builder.CreateString(row.key);
    auto const value = builder.CreateString(row.value);
    auto const type = builder.CreateString(row.type);
    auto const first = builder.CreateString(row.first);
    auto const last = builder.CreateString(row.last);
    return codecs::CreateDnsRecord(builder, key, value, type, row.ttl, first, last);
}

template <typename Table>
std::string finished(FlatBufferBuilder& builder, Offset<Table> root) {
    builder.Finish(root);
    auto const bytes = builder.GetBufferSpan();
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// The table in bytes of somebody else, which have to be looked through before.
template <typename Table>
Table const& root_of(std::string const& bytes) {
    auto const* data = reinterpret_cast<std::uint8_t const*>(bytes.data());
    flatbuffers::Verifier verifier{data, bytes.size()};
    if (!verifier.VerifyBuffer<Table>()) {
        throw std::runtime_error("these bytes are no message");
    }
    return *flatbuffers::GetRoot<Table>(data);
}

Row row_of(codecs::DnsRecord const& record) {
    return {flatbuffers::GetString(record.key()),  flatbuffers::GetString(record.value()),
            flatbuffers::GetString(record.type()), record.ttl(),
            flatbuffers::GetString(record.first()), flatbuffers::GetString(record.last())};
}

std::string encode(Row const& row) {
    FlatBufferBuilder builder;
    return finished(builder, put(builder, row));
}

Row decode(std::string const& bytes) { return row_of(root_of<codecs::DnsRecord>(bytes)); }

std::string encode_all(Rows const& rows) {
    FlatBufferBuilder builder;
    std::vector<Offset<codecs::DnsRecord>> records;
    records.reserve(rows.size());
    for (auto const& row : rows) {
        records.push_back(put(builder, row));
    }
    return finished(builder, codecs::CreateDnsResponseDirect(builder, &records));
}

Rows decode_all(std::string const& bytes) {
    auto const* records = root_of<codecs::DnsResponse>(bytes).records();
    Rows rows;
    if (records != nullptr) {
        rows.reserve(records->size());
        for (auto const* record : *records) {
            rows.push_back(row_of(*record));
        }
    }
    return rows;
}

}  // namespace

int main(int count, char** words) {
    return works::run(count, words, {encode, decode}, {encode_all, decode_all});
}
