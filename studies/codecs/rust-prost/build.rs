//! Makes the messages of the schema.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../schema");
    // A compiler of schemas in Rust, so that no other has to be installed.
    let schema = protox::compile(["record.proto"], ["../schema"])?;
    Ok(prost_build::compile_fds(schema)?)
}
