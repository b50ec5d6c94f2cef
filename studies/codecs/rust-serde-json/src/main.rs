//! JSON, with serde_json.

use std::error::Error;

use works::{Form, run};

fn main() -> Result<(), Box<dyn Error>> {
    run(
        Form {
            encode: |row| Ok(serde_json::to_vec(row)?),
            decode: |bytes| Ok(serde_json::from_slice(bytes)?),
        },
        Form {
            encode: |rows| Ok(serde_json::to_vec(rows)?),
            decode: |bytes| Ok(serde_json::from_slice(bytes)?),
        },
    )
}
