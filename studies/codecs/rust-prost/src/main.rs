//! Protocol Buffers, with the messages that prost makes of the schema.

use std::error::Error;

use prost::Message;
use works::{DEFAULT_TTL, DEFAULT_TYPE, Form, Row, run};

mod schema {
    include!(concat!(env!("OUT_DIR"), "/codecs.rs"));
}

use schema::{DnsRecord, DnsResponse};

impl From<&Row> for DnsRecord {
    fn from(row: &Row) -> DnsRecord {
        DnsRecord {
            key: Some(row.key.clone()),
            value: Some(row.value.clone()),
            r#type: (row.r#type != DEFAULT_TYPE).then(|| row.r#type.clone()),
            ttl: (row.ttl != DEFAULT_TTL).then_some(row.ttl),
            first: Some(row.first.clone()),
            last: Some(row.last.clone()),
        }
    }
}

impl From<DnsRecord> for Row {
    fn from(message: DnsRecord) -> Row {
        Row {
            ttl: message.ttl(),
            key: message.key.unwrap_or_default(),
            value: message.value.unwrap_or_default(),
            r#type: message.r#type.unwrap_or_else(|| DEFAULT_TYPE.into()),
            first: message.first.unwrap_or_default(),
            last: message.last.unwrap_or_default(),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    run(
        Form {
            encode: |row| Ok(DnsRecord::from(row).encode_to_vec()),
            decode: |bytes| Ok(DnsRecord::decode(bytes)?.into()),
        },
        Form {
            encode: |rows| {
                let records = rows.iter().map(DnsRecord::from).collect();
                Ok(DnsResponse { records }.encode_to_vec())
            },
            decode: |bytes| {
                let records = DnsResponse::decode(bytes)?.records;
                Ok(records.into_iter().map(Row::from).collect())
            },
        },
    )
}
