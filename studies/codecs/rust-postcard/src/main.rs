//! postcard, a compact format of serde's.

use std::error::Error;

use works::{Form, run};

fn main() -> Result<(), Box<dyn Error>> {
    run(
        Form {
            encode: |row| Ok(postcard::to_stdvec(row)?),
            decode: |bytes| Ok(postcard::from_bytes(bytes)?),
        },
        Form {
            encode: |rows| Ok(postcard::to_stdvec(rows)?),
            decode: |bytes| Ok(postcard::from_bytes(bytes)?),
        },
    )
}
