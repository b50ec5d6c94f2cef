# A row of a passive DNS, and what a search answers: as in 2009.
@0xe9d1f6a3b7c40c25;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codecs");

struct DnsRecord {
  key @0 :Text;
  value @1 :Text;
  type @2 :Text = "A";
  ttl @3 :Int32 = 86400;
  first @4 :Text;
  last @5 :Text;
}

struct DnsResponse {
  records @0 :List(DnsRecord);
}
