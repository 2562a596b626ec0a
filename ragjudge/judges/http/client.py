"""One exchange with a server: a JSON body there, a status and a text back. Standard library only.

A connection serves one exchange. Proxies of the environment are not used: the address that the user named
is the only one that is ever contacted, and a redirect to another one is not followed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from ragjudge import __version__
from ragjudge.errors import JudgeUnavailableError
from ragjudge.judges.http.settings import Address

if TYPE_CHECKING:
    from pydantic import JsonValue

MOST_BYTES = 8 << 20
"""Largest body that is read: a thousand times an honest answer."""

CONNECT_SECONDS = 10.0
"""Longest wait for a connection; a server that is there takes it at once, however busy it is."""

_PIECE = 1 << 16


@dataclass(frozen=True)
class Response:
    """What a server answered.

    Attributes:
        status: The HTTP status.
        text: The body.
        retry_after: Seconds after which the server wants to be asked again, when it says so.
        location: Where a redirect leads.
    """

    status: int
    text: str
    retry_after: float | None = None
    location: str | None = None


class ExchangeError(Exception):
    """There was no answer.

    Args:
        reason: Why, as the end of a sentence.
        again: Whether another try can help.
        reached: Whether a connection came about.
    """

    def __init__(self, reason: str, *, again: bool, reached: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.reached = reached


class AbortedError(Exception):
    """Nobody waits for the answer any more."""


class _Exchange:
    """A connection in use, which another thread may cut."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.cut_because: str | None = None
        self._socket: socket.socket | None = None

    def connect(self) -> None:
        self.connection.connect()
        self._socket = self.connection.sock
        if self.cut_because is not None:
            self.cut(self.cut_because)

    def cut(self, reason: str) -> None:
        """Let the thread that waits for this server go on at once."""
        self.cut_because = self.cut_because or reason
        if self._socket is not None:
            # Not the TLS socket's own method: that takes the state away from under the waiting thread.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Client:
    """Sends bodies to one address. Several threads may use it at once.

    Args:
        address: Where the server is.
        timeout: Seconds that an exchange may take, from connecting to the last byte.
        key: Sent as bearer token; taken out of whatever the server says.
    """

    def __init__(self, address: Address, *, timeout: float, key: str | None = None) -> None:
        self.address = address
        self.stopped = threading.Event()
        self._timeout = timeout
        self._key = key
        self._lock = threading.Lock()
        self._active: set[_Exchange] = set()

    def post(self, body: JsonValue) -> Response:
        """Send a body to ``/chat/completions``.

        Raises:
            ExchangeError: There was no answer.
            AbortedError: `abort` was called.
            JudgeUnavailableError: The server's certificate is not to be trusted.
        """
        exchange = _Exchange(self._connection())
        with self._lock:
            if self.stopped.is_set():
                raise AbortedError
            self._active.add(exchange)
        # A socket's own timeout counts from byte to byte: a server that trickles would never be late.
        watch = threading.Timer(self._timeout, exchange.cut, ["late"])
        watch.daemon = True
        watch.start()
        try:
            return self._exchange(exchange, json.dumps(body).encode("ascii"))
        finally:
            watch.cancel()
            with self._lock:
                self._active.discard(exchange)
            exchange.connection.close()

    def abort(self) -> None:
        """End all exchanges, and refuse new ones."""
        with self._lock:
            self.stopped.set()
            active = list(self._active)
        for exchange in active:
            exchange.cut("aborted")

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self.address.host, self.address.port
        wait = min(CONNECT_SECONDS, self._timeout)
        if self.address.secure:
            return http.client.HTTPSConnection(host, port, timeout=wait, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=wait)

    def _exchange(self, exchange: _Exchange, body: bytes) -> Response:
        try:
            exchange.connect()
        except ssl.SSLError as error:
            raise JudgeUnavailableError(
                f"judge 'http': no safe connection to {self.address}: {error.reason or error}."
            ) from error
        except OSError as error:
            if exchange.cut_because == "aborted":
                raise AbortedError from error
            raise ExchangeError(f"cannot be reached: {_told(error)}", again=True, reached=False) from error
        try:
            return self._answer(exchange.connection, body)
        except (http.client.HTTPException, OSError, ValueError) as error:
            if exchange.cut_because == "aborted":
                raise AbortedError from error
            # The socket waits as long as the watch does, and may be the first to notice.
            if exchange.cut_because == "late" or isinstance(error, TimeoutError):
                late = f"did not answer within {self._timeout:g} seconds"
                raise ExchangeError(late, again=False, reached=True) from error
            raise ExchangeError(
                f"broke the connection off: {_told(error)}", again=True, reached=True
            ) from error

    def _answer(self, connection: http.client.HTTPConnection, body: bytes) -> Response:
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout)
        connection.request("POST", f"{self.address.path}/chat/completions", body, self._headers())
        # A response that is not read to its end keeps the socket.
        with contextlib.closing(connection.getresponse()) as response:
            raw = _read(response)
        return Response(
            response.status,
            self._without_key(raw.decode("utf-8", "replace")),
            _seconds(response.getheader("Retry-After")),
            self._without_key(response.getheader("Location") or "") or None,
        )

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"ragjudge/{__version__}",
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _without_key(self, text: str) -> str:
        """Some servers repeat the key that they refuse."""
        return text.replace(self._key, "(key)") if self._key else text


def _read(response: http.client.HTTPResponse) -> bytes:
    pieces = []
    size = 0
    while piece := response.read(_PIECE):
        size += len(piece)
        if size > MOST_BYTES:
            raise ExchangeError(f"sent more than {MOST_BYTES >> 20} MiB", again=False, reached=True)
        pieces.append(piece)
    if response.length:  # bytes that were announced and did not come; read() with a size does not complain
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _seconds(value: str | None) -> float | None:
    """Read a Retry-After header: a number of seconds, or a date."""
    if value is None:
        return None
    if value.strip().isdecimal() and value.isascii():
        return float(value) if len(value.strip()) < 10 else None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no sign of life"
    if isinstance(error, http.client.IncompleteRead):
        return "the answer is incomplete"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).split()) or type(error).__name__
