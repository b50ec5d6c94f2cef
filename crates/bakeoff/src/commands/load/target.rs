//! From a URL to the address that is connected to.
//!
//! `http::Uri` splits the URL, not the `url` crate: that one rewrites a path as
//! browsers do, and would turn `{nonce}` into `%7Bnonce%7D`. A load generator
//! sends what was written.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use http::Uri;
use load::plan::Target;
use load::plan::keys::Resp;
use load::plan::rooms::{Qos, Wire};

/// Why there is nothing to connect to, as a sentence.
type Complaint = String;

/// The longest that one of several addresses is waited for: that of a machine which is
/// off gives no answer at all.
const PATIENCE_MAX: Duration = Duration::from_secs(2);

/// Finds the target of a URL. Where a name has several addresses, it is the first that
/// accepts a connection within the timeout.
pub fn target(url: &str, timeout: Duration) -> Result<(Target, Speaks), Complaint> {
    let parts = Parts::of(url)?;
    let addresses: Vec<SocketAddr> = (parts.host.as_str(), parts.port)
        .to_socket_addrs()
        .map_err(|error| format!("the name {:?} can't be resolved: {error}", parts.host))?
        .collect();
    let address = one_of(&addresses, timeout.min(PATIENCE_MAX))
        .ok_or_else(|| format!("the name {:?} has no address", parts.host))?;
    let target = Target { address, authority: parts.authority, path: parts.path };
    Ok((target, parts.speaks))
}

/// What is spoken with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaks {
    /// HTTP/1.1.
    Http,
    /// A key-value store's protocol.
    Keys(Store),
    /// What robots in rooms hear each other by.
    Rooms(Wire),
}

/// A kind of key-value store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// One that speaks RESP.
    Resp(Resp),
    /// One that speaks memcached's protocol.
    Memcached,
}

/// A URL as it may be shown: without a password.
pub fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Of a password with one of these as it is, only the start stands before it.
    let is_cut_password = !authority.contains('@')
        && authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_err())
        && !authority.ends_with(']');
    let secret = if is_cut_password { rest } else { authority };
    match secret.rsplit_once('@') {
        Some((secret, _)) => format!("{scheme}://***{}", &rest[secret.len()..]),
        None => url.into(),
    }
}

/// A part of a URL's credentials without its escapes (RFC 3986, 2.1). It isn't shown: it may be a
/// password.
fn decoded(part: &str) -> Result<String, Complaint> {
    let decoded = percent_encoding::percent_decode_str(part).decode_utf8();
    decoded.map(Into::into).map_err(|_| "the URL's credentials are no UTF-8 once decoded".into())
}

/// The first of these addresses at which somebody listens, or else the first. Of
/// `localhost` that is often ::1, where many servers don't listen. A single address is
/// not connected to before the run.
fn one_of(addresses: &[SocketAddr], patience: Duration) -> Option<SocketAddr> {
    let (&first, others) = addresses.split_first()?;
    if others.is_empty() {
        return Some(first);
    }
    let accepts = |address: &&SocketAddr| TcpStream::connect_timeout(address, patience).is_ok();
    Some(addresses.iter().find(accepts).copied().unwrap_or(first))
}

/// Where on this machine somebody listens on the same port as at this address of it, in the other
/// address family: a server may listen in one only.
pub fn in_the_other_family(address: SocketAddr) -> Option<SocketAddr> {
    let other = match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => IpAddr::from(Ipv6Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_loopback() => IpAddr::from(Ipv4Addr::LOCALHOST),
        _ => return None,
    };
    let other = SocketAddr::new(other, address.port());
    TcpStream::connect_timeout(&other, PATIENCE_MAX).is_ok().then_some(other)
}

/// The query of a URL of Redis whose channels are rooms.
const ROOMS: &str = "rooms";

#[derive(Debug, PartialEq)]
struct Parts {
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// Host and port as they were written.
    authority: String,
    path: String,
    speaks: Speaks,
}

impl Parts {
    fn of(url: &str) -> Result<Parts, Complaint> {
        let shown = shown(url);
        let wrong = |what: String| format!("{shown:?} is not a URL to load: {what}");
        // A scheme may be in capitals (RFC 3986, 3.1).
        let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let mut speaks = match scheme.as_deref() {
            Some("http") => Speaks::Http,
            Some("redis" | "valkey") => Speaks::Keys(Store::Resp(Resp::default())),
            Some("memcached" | "memcache") => Speaks::Keys(Store::Memcached),
            Some("frames") => Speaks::Rooms(Wire::Frames),
            Some("mqtt") => Speaks::Rooms(Wire::Mqtt { qos: Qos::AtMostOnce }),
            Some("nats") => Speaks::Rooms(Wire::Nats),
            Some("mqtts") => {
                return Err("mqtts:// needs TLS, which bakeoff load does not speak yet; give a \
                            mqtt:// URL"
                    .into());
            }
            Some("rediss") => {
                return Err("rediss:// needs TLS, which bakeoff load does not speak yet; give a \
                            redis:// URL"
                    .into());
            }
            Some("https") => {
                return Err("https:// needs TLS, which bakeoff load does not speak yet; \
                            give an http:// URL"
                    .into());
            }
            Some("h2" | "h2c" | "http2") => {
                return Err("bakeoff load does not speak HTTP/2 yet; give an http:// URL, which \
                            is asked in HTTP/1.1"
                    .into());
            }
            Some(scheme) => {
                return Err(wrong(format!(
                    "it is {scheme}://, and not http://, redis://, memcached://, frames://, \
                     mqtt:// or nats://"
                )));
            }
            None => return Err(wrong("it does not begin with http://".into())),
        };
        let no_host = || {
            let is_secret = shown != url;
            let how =
                if is_secret { "; in a password write / as %2F, ? as %3F, # as %23" } else { "" };
            wrong(format!("it has no host{how}"))
        };
        let uri: Uri =
            url.parse().map_err(|error: http::uri::InvalidUri| wrong(error.to_string()))?;
        let authority = uri.authority().ok_or_else(no_host)?;
        if matches!(speaks, Speaks::Keys(Store::Resp(_))) && uri.query() == Some(ROOMS) {
            speaks = Speaks::Rooms(Wire::Resp);
        }
        let credentials = authority.as_str().rsplit_once('@').map(|(before, _)| before);
        match (&mut speaks, credentials) {
            (_, None) => {}
            // Not shown: it may have a password.
            (Speaks::Http, Some(_)) => {
                return Err("the URL has a user name; give credentials with \
                            -H 'Authorization: …'"
                    .into());
            }
            (Speaks::Keys(Store::Memcached), Some(_)) => {
                return Err("memcached's protocol has no user names; leave them out".into());
            }
            (Speaks::Rooms(_), Some(_)) => {
                return Err(
                    "robots give no user name and no password yet; leave them out, and let \
                            the server take clients without"
                        .into(),
                );
            }
            (Speaks::Keys(Store::Resp(resp)), Some(credentials)) => {
                let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
                if password.is_empty() {
                    return Err("a password is missing: redis://USER:PASSWORD@HOST, or \
                                redis://:PASSWORD@HOST"
                        .into());
                }
                resp.user = (!user.is_empty()).then(|| decoded(user)).transpose()?;
                resp.password = Some(decoded(password)?);
            }
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(no_host());
        }
        // Which interface an address is of; it concerns this machine alone (RFC 6874).
        let (host, zone) = host.split_once('%').map_or((host, None), |(host, zone)| {
            (host, Some(zone.strip_prefix("25").unwrap_or(zone)))
        });
        let host_and_port = authority.as_str().rsplit('@').next().unwrap_or_default();
        let after_host = &host_and_port[authority.host().len()..];
        let port = match after_host.strip_prefix(':') {
            None | Some("") => match speaks {
                Speaks::Http => 80,
                Speaks::Keys(Store::Resp(_)) => 6379,
                Speaks::Keys(Store::Memcached) => 11211,
                Speaks::Rooms(Wire::Frames) => {
                    return Err(wrong("frames:// has no usual port: give one".into()));
                }
                Speaks::Rooms(Wire::Mqtt { .. }) => 1883,
                Speaks::Rooms(Wire::Nats) => 4222,
                Speaks::Rooms(Wire::Resp) => 6379,
            },
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(wrong(format!("{port} is no port"))),
            },
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        match (&mut speaks, path.trim_start_matches('/')) {
            (Speaks::Http, _) | (_, "") => {}
            (Speaks::Keys(Store::Memcached), _) => {
                return Err(wrong("memcached has no databases, and so no path".into()));
            }
            (Speaks::Rooms(Wire::Resp), query) if query.strip_prefix('?') == Some(ROOMS) => {}
            (Speaks::Rooms(Wire::Resp), _) => {
                return Err(wrong("its channels are in no database, so leave that out".into()));
            }
            (Speaks::Rooms(_), _) => {
                return Err(wrong("rooms are given by --rooms, and not by a path".into()));
            }
            (Speaks::Keys(Store::Resp(resp)), database) => {
                let no = |_| wrong(format!("{database:?} is no number of a database"));
                resp.database = database.parse().map_err(no)?;
            }
        }
        let (host, authority) = match zone {
            Some(zone) => (format!("{host}%{zone}"), format!("[{host}]{after_host}")),
            None => (host.into(), host_and_port.into()),
        };
        Ok(Parts {
            host,
            port,
            authority,
            speaks,
            // A query may follow the host at once.
            path: if path.starts_with('/') { path.into() } else { format!("/{path}") },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn parts(url: &str) -> (String, u16, String, String) {
        let parts = Parts::of(url).unwrap();
        (parts.host, parts.port, parts.authority, parts.path)
    }

    fn strings(
        host: &str,
        port: u16,
        authority: &str,
        path: &str,
    ) -> (String, u16, String, String) {
        (host.into(), port, authority.into(), path.into())
    }

    #[test]
    fn a_url_gives_host_port_and_path() {
        assert_eq!(parts("http://a.b"), strings("a.b", 80, "a.b", "/"));
        assert_eq!(parts("http://a:8080/x?y=1"), strings("a", 8080, "a:8080", "/x?y=1"));
        assert_eq!(parts("http://[::1]:81/"), strings("::1", 81, "[::1]:81", "/"));
        assert_eq!(parts("http://[::1]"), strings("::1", 80, "[::1]", "/"));
        // Else a link-local address can't be loaded, or the server is told of an interface.
        let local = strings("fe80::1%eth0", 80, "[fe80::1]:80", "/");
        assert_eq!(parts("http://[fe80::1%25eth0]:80/"), local);
        assert_eq!(parts("HTTP://a"), strings("a", 80, "a", "/"));
        assert_eq!(parts("http://a?x=1"), strings("a", 80, "a", "/?x=1"));
        assert_eq!(parts("http://a/b#fragment"), strings("a", 80, "a", "/b"));
    }

    #[test]
    fn a_stores_url_gives_its_database_and_who_asks() {
        let speaks = |url| Parts::of(url).unwrap().speaks;
        let resp = |user: Option<&str>, password: Option<&str>, database| {
            let (user, password) = (user.map(Into::into), password.map(Into::into));
            Speaks::Keys(Store::Resp(Resp { user, password, database, is_third: false }))
        };
        assert_eq!(speaks("redis://a"), resp(None, None, 0));
        assert_eq!(speaks("redis://:x@a:1/3"), resp(None, Some("x"), 3));
        let escaped = resp(Some("m e"), Some("p@ss:w/rd#1%"), 0);
        assert_eq!(speaks("redis://m%20e:p%40ss%3Aw%2Frd%231%@a"), escaped);
        assert_eq!(speaks("valkey://u:x@[::1]/"), resp(Some("u"), Some("x"), 0));
        assert_eq!(speaks("memcached://a"), Speaks::Keys(Store::Memcached));
        assert_eq!(parts("redis://u:x@a"), strings("a", 6379, "a", "/"));
        assert_eq!(speaks("frames://a:1"), Speaks::Rooms(Wire::Frames));
        assert_eq!(parts("memcached://[::1]:9"), strings("::1", 9, "[::1]:9", "/"));
    }

    #[test]
    fn what_robots_speak_is_in_the_url() {
        let wire = |url| match Parts::of(url).unwrap() {
            Parts { speaks: Speaks::Rooms(wire), host, port, .. } => (wire, host, port),
            other => panic!("{url}: {other:?}"),
        };
        let mqtt = Wire::Mqtt { qos: Qos::AtMostOnce };
        assert_eq!(wire("mqtt://a"), (mqtt, "a".into(), 1883));
        assert_eq!(wire("mqtt://[::1]:9/"), (mqtt, "::1".into(), 9));
        assert_eq!(wire("nats://a"), (Wire::Nats, "a".into(), 4222));
        for url in ["redis://a?rooms", "redis://a/?rooms", "valkey://a:6379?rooms"] {
            assert_eq!(wire(url), (Wire::Resp, "a".into(), 6379), "{url}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(shown("redis://u:x@a:1/3"), "redis://***@a:1/3");
        assert_eq!(shown("redis://:a@b@c/"), "redis://***@c/");
        assert_eq!(shown("http://a/x@y"), "http://a/x@y");
        assert_eq!(shown("http://[::1]/x@y"), "http://[::1]/x@y");
        assert_eq!(shown("http://a:80?x@y"), "http://a:80?x@y");
        for cut in ["redis://:s/ecret@a:1", "redis://u:s?ecret@a:1", "http://u:s#ecret@a:1/"] {
            assert!(!shown(cut).contains("ecret"), "{}", shown(cut));
            let complaint = Parts::of(cut).unwrap_err();
            assert!(!complaint.contains("ecret"), "a password is shown: {complaint}");
        }
        let complaint = Parts::of("redis://:s/ecret@a:1").unwrap_err();
        assert!(complaint.contains("write / as %2F"), "{complaint}");
    }

    #[test]
    fn a_path_is_sent_as_it_was_written() {
        let path = "/a{counter}/../%2f?id={nonce}";
        assert_eq!(parts(&format!("http://a{path}")).3, path);
    }

    #[test]
    fn what_can_not_be_loaded_is_said() {
        let complaints: Vec<String> = [
            "https://a/",
            "h2c://a/",
            "ftp://a/",
            "rediss://a/",
            "redis://user@a/",
            "redis://a/x",
            "memcached://a/1",
            "memcached://user:secret@a",
            "frames://a",
            "frames://a:1/room",
            "frames://me@a:1",
            "mqtt://me:secret@a",
            "mqtt://a/room",
            "mqtts://a",
            "nats://a/room",
            "redis://a/3?rooms",
            "redis://:secret@a?rooms",
            "redis://a?room",
            "localhost:8080",
            "http://",
            "http:///path",
            "http://user:secret@a/",
            "http://a:0/",
            "http://a:99999/",
            "http://a b/",
            "http://a/b c",
            "http://[::1/",
            "",
        ]
        .iter()
        .map(|url| Parts::of(url).unwrap_err())
        .collect();
        insta::assert_snapshot!(complaints.join("\n"));
    }

    #[test]
    fn addresses_and_names_are_resolved() {
        let target = |url| Ok::<_, Complaint>(target(url, Duration::from_secs(1))?.0);
        assert_eq!(target("http://127.0.0.2:81").unwrap().address, "127.0.0.2:81".parse().unwrap());
        assert_eq!(target("http://[::1]").unwrap().address, "[::1]:80".parse().unwrap());
        let complaint = target("http://does-not-exist.invalid/").unwrap_err();
        assert!(
            complaint.starts_with("the name \"does-not-exist.invalid\" can't be resolved: "),
            "{complaint}"
        );
    }
    #[test]
    fn of_several_addresses_the_first_is_taken_where_somebody_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        let nobody = |last| SocketAddr::from(([127, 0, 0, last], listens.port()));
        let patience = Duration::from_secs(5);
        assert_eq!(one_of(&[nobody(2), nobody(3), listens], patience), Some(listens));
        assert_eq!(one_of(&[nobody(2), nobody(3)], patience), Some(nobody(2)));
        assert_eq!(one_of(&[], patience), None);

        drop(listener.accept().unwrap());
        listener.set_nonblocking(true).unwrap();
        assert_eq!(one_of(&[listens], patience), Some(listens));
        assert!(listener.accept().is_err(), "a server saw a connection that it needn't have");
    }
}
