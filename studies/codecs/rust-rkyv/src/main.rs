//! rkyv, whose bytes are records as they would be in memory.

use std::error::Error;

use rkyv::rancor;
use rkyv::vec::ArchivedVec;
use rkyv::with::{Map, With};
use rkyv::{Archive, Deserialize, Serialize};
use works::{Form, Outcome, Row, run};

/// Tells rkyv of a row, which comes from a crate that doesn't know rkyv.
#[derive(Archive, Serialize, Deserialize)]
#[rkyv(remote = Row, archived = ArchivedRow)]
struct RowOf {
    key: String,
    value: String,
    r#type: String,
    ttl: i32,
    first: String,
    last: String,
}

impl From<RowOf> for Row {
    fn from(RowOf { key, value, r#type, ttl, first, last }: RowOf) -> Row {
        Row { key, value, r#type, ttl, first, last }
    }
}

fn encode(row: &Row) -> Outcome<Vec<u8>> {
    let row = With::<_, RowOf>::cast(row);
    Ok(rkyv::api::high::to_bytes_in::<_, rancor::Error>(row, Vec::new())?)
}

fn decode(bytes: &[u8]) -> Outcome<Row> {
    let row = rkyv::access::<ArchivedRow, rancor::Error>(bytes)?;
    Ok(rkyv::deserialize::<_, rancor::Error>(With::<_, RowOf>::cast(row))?)
}

fn encode_all(rows: &Vec<Row>) -> Outcome<Vec<u8>> {
    let rows = With::<_, Map<RowOf>>::cast(rows);
    Ok(rkyv::api::high::to_bytes_in::<_, rancor::Error>(rows, Vec::new())?)
}

fn decode_all(bytes: &[u8]) -> Outcome<Vec<Row>> {
    let rows = rkyv::access::<ArchivedVec<ArchivedRow>, rancor::Error>(bytes)?;
    Ok(rkyv::deserialize::<_, rancor::Error>(With::<_, Map<RowOf>>::cast(rows))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    run(Form { encode, decode }, Form { encode: encode_all, decode: decode_all })
}
