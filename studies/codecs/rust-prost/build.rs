//! Makes the messages of the schema.

fn main() -> std::io::Result<()> {
    prost_build::compile_protos(&["../schema/record.proto"], &["../schema"])
}
