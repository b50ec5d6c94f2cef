//! The server that all clients are measured against: nginx, doing as little as
//! it can.

use std::net::SocketAddr;

use crate::interrupt::Interrupt;
use crate::place::Place;
use crate::server::{self, Recipe, Server};
use crate::target::{STATUS, Target};

/// What `/` answers: about as much as a small API does.
pub const BODY: &str = "hello from a server that does next to nothing, so that it is the client \
                        that is measured, and not it";

/// Starts one of our own configuration on its processor, with a file `/<bytes>` of each size.
pub fn start(place: &Place, sizes: &[usize], interrupt: &Interrupt) -> Result<Target, String> {
    start_at(server::free_address()?, place, sizes, interrupt)
}

/// The same at this address.
pub fn start_at(
    address: SocketAddr,
    place: &Place,
    sizes: &[usize],
    interrupt: &Interrupt,
) -> Result<Target, String> {
    let files = sizes.iter().map(|size| (size.to_string(), "x".repeat(*size)));
    let recipe = |address: SocketAddr, folder: &str| {
        let configuration = include_str!("nginx.conf")
            .replace("@ADDRESS@", &address.to_string())
            .replace("@FOLDER@", folder)
            .replace("@STATUS@", STATUS)
            .replace("@BODY@", BODY);
        let command = ["nginx", "-e", "stderr", "-p", folder, "-c", "nginx.conf"];
        Recipe {
            command: command.map(String::from).to_vec(),
            files: files.chain([("nginx.conf".to_string(), configuration)]).collect(),
            is_ready: |server| server.get("/").is_ok(),
        }
    };
    let started = Server::start_at(address, recipe, &[place.server], interrupt);
    started.map(Target::new).map_err(|why| format!("{why} (`setup/install bench` installs nginx)"))
}
