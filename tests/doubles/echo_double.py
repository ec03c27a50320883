#!/usr/bin/env python3
"""Answers every request with what it saw, as JSON: method, path, headers, body. Redirects, limits and everything else that
a client must survive come from faults.py; /gzip answers compressed, /nonsense with something that is not HTTP."""
import gzip

import faults


class Handler(faults.Handler):
    def answer(self, body):
        if self.path == "/nonsense":
            self.wfile.write(b"\0 this is not HTTP\r\n\r\n")
            raise BrokenPipeError
        answer = self.echo(body)
        if self.path == "/gzip":
            answer.body, answer.headers = gzip.compress(answer.body), {"Content-Encoding": "gzip"}
        return answer

    def echo(self, body):
        return faults.json_answer(200, {"method": self.command, "path": self.path, "via_proxy": self.via_proxy,
                                        "headers": {name.lower(): value for name, value in self.headers.items()},
                                        "body": body.decode("latin-1"), "client_port": self.client_address[1]})


def main():
    options = faults.arguments("An echo.").parse_args()
    faults.serve(Handler, faults.Double(faults.rules_of(options), options.log), options)


if __name__ == "__main__":
    main()
