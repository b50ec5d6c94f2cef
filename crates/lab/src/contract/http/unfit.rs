//! Requests that are nearly right.

/// A request that is nearly right.
pub(super) struct Unfit {
    pub(super) id: &'static str,
    pub(super) asked: &'static str,
    /// The protocol, in its first line.
    pub(super) version: &'static str,
    /// Its headers, where `HOST` stands for the server's address.
    pub(super) headers: &'static str,
    /// What is asked of a server, and why.
    pub(super) rule: &'static str,
}

/// Requests that a server must refuse, each by the rule that it names.
pub(super) const UNFIT: [Unfit; 4] = [
    Unfit {
        id: "no-host",
        asked: "refuses a request without Host (RFC 9112, 3.2)",
        version: "HTTP/1.1",
        headers: "Connection: close\r\n",
        rule: "a server must answer 400 where HTTP/1.1 comes without Host",
    },
    Unfit {
        id: "two-lengths",
        asked: "refuses two lengths that differ (RFC 9112, 6.3)",
        version: "HTTP/1.1",
        headers: "Host: HOST\r\nContent-Length: 5\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello!",
        rule: "where the body ends is anybody's guess, so that a server must answer 400 and close",
    },
    Unfit {
        id: "no-length",
        asked: "refuses a length that is no number (RFC 9112, 6.3)",
        version: "HTTP/1.1",
        headers: "Host: HOST\r\nContent-Length: 5x\r\nConnection: close\r\n\r\nhello",
        rule: "where the body ends is anybody's guess, so that a server must answer 400 and close",
    },
    Unfit {
        id: "space-before-colon",
        asked: "refuses a space between a header's name and the colon (RFC 9112, 5.1)",
        version: "HTTP/1.1",
        headers: "Host: HOST\r\nContent-Length : 0\r\nConnection: close\r\n",
        rule: "readers differ in what such a line says, so that a server must answer 400",
    },
];

/// Requests that servers in wide use take, or that they need not refuse. What a server does
/// is shown, and nothing is wrong with it.
pub(super) const ODD: [Unfit; 3] = [
    Unfit {
        id: "two-hosts",
        asked: "shows what it does with two lines of Host",
        version: "HTTP/1.1",
        headers: "Host: HOST\r\nHost: other\r\nConnection: close\r\n",
        rule: "RFC 9112, 3.2, asks for 400, and servers in wide use take the first one",
    },
    Unfit {
        id: "bare-cr",
        asked: "shows what it does with a bare CR between two lines",
        version: "HTTP/1.1\rHost: HOST",
        headers: "Connection: close\r\n",
        rule: "by RFC 9112, 2.2, it ends no line, and servers in wide use let it",
    },
    Unfit {
        id: "version",
        asked: "shows what it does with HTTP/3.7",
        version: "HTTP/3.7",
        headers: "Host: HOST\r\nConnection: close\r\n",
        rule: "RFC 9110, 15.6.6, has 505 for it, which no server must use",
    },
];
