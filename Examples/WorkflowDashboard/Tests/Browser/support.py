"""What the browser tests need: the program, a proxy that can fail, and journals."""

import json
import os
import resource
import signal
import socket
import subprocess
import threading


class Program:
    """The dashboard, as a user starts it."""

    def __init__(self, path, *arguments, environment=None, open_files=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

        self.process = subprocess.Popen(
            [path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})},
            preexec_fn=limit if open_files else None)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://127.0.0.1:"):
            raise AssertionError(f"the program said: {self.url!r} {self.process.stderr.read()}")
        self.base, self.token = self.url.split("/#token=")
        self.port = int(self.base.rsplit(":", 1)[1])

    def page(self, workflow, port=None):
        base = self.base if port is None else f"http://127.0.0.1:{port}"
        return f"{base}/?workflow={workflow}#token={self.token}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the program does not end")


class Proxy:
    """A connection to the server that can be cut, and that remembers the requests.

    The server insists on its own name, so the proxy's port is replaced by the server's in what
    the browser sends. Both have five digits, so no length changes.
    """

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        assert len(str(self.port)) == len(str(port))
        self.names = (f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{port}".encode())
        self.server = ("127.0.0.1", port)
        self.lock = threading.Lock()
        self.pairs = []
        self.requests = []
        self.is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if self.is_cut:
                    client.close()
                    continue
                server = socket.create_connection(self.server)
                self.pairs.append((client, server))
            for source, target, is_request in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._copy, args=(source, target, is_request), daemon=True).start()

    def _copy(self, source, target, is_request):
        try:
            while data := source.recv(65536):
                if is_request:
                    self.requests.append(data.decode(errors="replace"))
                    data = data.replace(*self.names)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Ends all connections and refuses new ones."""
        with self.lock:
            self.is_cut = True
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()

    def mend(self):
        """Lets connections through again."""
        with self.lock:
            self.is_cut = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()


def journal(results):
    """Writes a journal as the library does: a line for each result, with its checksum.

    `results` are (identifier, value, identifiers of the prerequisites).
    """
    salt = 0x0123456789ABCDEF

    def checksum(data, salt):
        total = 0xCBF29CE484222325 ^ salt
        for byte in data:
            total = ((total ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        return total

    def line(record, data=None, salt=salt):
        head = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
        body = b"" if data is None else json.dumps(
            {"result": data}, separators=(",", ":"), ensure_ascii=False).encode()
        rest = b'"size":[%d,%d],"record":' % (len(head), len(body)) + head
        if body:
            rest += b',"data":' + body
        rest += b"}"
        return b'{"sum":"%016x",' % checksum(rest, salt) + rest + b"\n"

    header = line({"format": 1, "salt": f"{salt:016x}"}, salt=0)
    text, number, lines = header + header, 0, {}
    before = {}
    for identifier, value, needed in results:
        number += 1
        lines[identifier] = number
        record = {
            "n": number, "forgets": 0, "finished": identifier, "version": 1,
            "time": 1_700_000_000 + number, "after": {name: lines[name] for name in needed},
        }
        if before:
            record["before"] = before
        before = {"finished": identifier}
        text += line(record, value)
    return text + line({"n": number + 1, "forgets": 0, "before": before})
