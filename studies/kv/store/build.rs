//! Compiles what an engine has in C.

fn main() {
    #[cfg(feature = "bdb")]
    {
        const SOURCE: &str = "src/engine/bdb/bdb.c";
        println!("cargo::rerun-if-changed={SOURCE}");
        cc::Build::new().file(SOURCE).warnings_into_errors(true).compile("store_bdb");
        // Behind what needs it.
        println!("cargo::rustc-link-lib=db-5.3");
    }
}
