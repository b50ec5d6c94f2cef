//! A hello-world server on hyper, as its guide shows one.

use std::borrow::Cow;
use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpSocket;

const ID_LENGTH_MAX: usize = 64;
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
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                eprintln!("couldn't accept a connection: {error}");
                // Most likely no more files may be open, which passes when a connection
                // ends.
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        tokio::spawn(async move {
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // It ends with an error where the client went away: nothing to be done.
            let _ = connection.await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // Such a request has to be refused (RFC 9112, section 3.2), which hyper leaves to others.
    if request.version() == Version::HTTP_11 && !request.headers().contains_key(HOST) {
        return Ok(text(StatusCode::BAD_REQUEST, "there is no Host\n"));
    }
    Ok(match request.uri().path() {
        "/hello" => match *request.method() {
            Method::GET | Method::HEAD => hello(request.uri().query().unwrap_or_default()),
            _ => {
                let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
                refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                refusal
            }
        },
        _ => text(StatusCode::NOT_FOUND, "not found\n"),
    })
}

fn hello(query: &str) -> Response<Full<Bytes>> {
    match id(query) {
        Some(id) => {
            let number: u128 = rand::random();
            let body = format!("hello {id}, your random number is {number:032x}\n");
            text(StatusCode::OK, body)
        }
        None => text(StatusCode::BAD_REQUEST, "the id has to be 1 to 64 letters and digits\n"),
    }
}

/// The query's id, if it is safe to echo into any kind of text.
fn id(query: &str) -> Option<Cow<'_, str>> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let (_, id) = pairs.find(|(name, _)| name == "id")?;
    let is_safe = (1..=ID_LENGTH_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_safe.then_some(id)
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
