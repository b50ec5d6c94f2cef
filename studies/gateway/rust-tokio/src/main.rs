//! A gateway of rooms on tokio: a task for each robot.

mod robot;
mod rooms;

use std::env;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::rooms::Rooms;

/// The kernel cuts it to net.core.somaxconn, 4,096 on Debian 12.
const BACKLOG: u32 = 8192;
/// Before another try where no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// As many worker threads as processors: the runtime's default, which
/// `TOKIO_WORKER_THREADS` says for the record.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host: IpAddr = env::var("HOST")?.parse()?;
    let address = SocketAddr::new(host, env::var("PORT")?.parse()?);
    // `TcpListener::bind` has no say in the backlog; the rest is what it does.
    let socket = if host.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let rooms = Arc::new(Rooms::default());
    for number in 0.. {
        let stream = accept(&listener).await;
        tokio::spawn(robot::serve(number, stream, Arc::clone(&rooms)));
    }
    Ok(())
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                eprintln!("couldn't accept a connection: {error}");
                // Most likely no more files may be open, which passes when a connection ends.
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
