import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else what is no HTTP is refused without a status line, as HTTP/0.9 had it.
    default_request_version = "HTTP/1.1"
    # Head and body are sent at once. Apart, which is the default, the body would wait
    # for the head's acknowledgement, 40 ms on Linux.
    wbufsize = -1

    # What HTTP/1.1 has refused (RFC 9112, 3.2, 5.1 and 6.3) http.server leaves to others.
    def parse_request(self):
        if not super().parse_request():
            return False
        has_host = self.request_version != "HTTP/1.1" or "Host" in self.headers
        lengths = set(self.headers.get_all("Content-Length", []))
        is_framed = len(lengths) < 2 and all(map(str.isdigit, lengths))
        if has_host and is_framed and not self.headers.defects:
            return True
        self.send_error(400)
        return False

    # The study asks: {contract}
    def do_GET(self):
        # FILL IN: this answers 200 with the same text to every request.
        self.answer(200, "to be filled in\n")

    do_HEAD = do_GET

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    # A line a request would be work that other contenders don't do.
    def log_message(self, format, *arguments):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 4096


Server((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
