// A row of a passive DNS, and what a search answers: as in 2009.
namespace java codecs
namespace cpp codecs

struct DnsRecord {
  1: string key
  2: string value
  3: optional string type = "A"
  4: optional i32 ttl = 86400
  5: string first
  6: string last
}

struct DnsResponse {
  1: list<DnsRecord> records
}
