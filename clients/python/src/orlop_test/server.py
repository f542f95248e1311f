"""The server: started, asked, stopped."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
from typing import Any, Iterable, Optional, Sequence, Union

StrPath = Union[str, "os.PathLike[str]"]

DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMIN_GROUP = "system:masters"

# Beside the server runs a shell that says where the kubeconfig is, and then waits for the end of its standard input. That is a pipe
# from this process: however this process ends, the pipe is closed, the shell ends, and the server with it.
WAIT_FOR_END_OF_INPUT = 'echo "$KUBECONFIG"; exec cat >/dev/null'


class StartError(RuntimeError):
    """The server could not be started."""


class ApiError(RuntimeError):
    """The server answered a request with an error."""

    def __init__(self, status: int, body: Any):
        message = body.get("message") if isinstance(body, dict) else body
        super().__init__(f"{status}: {message}")
        self.status = status
        """The HTTP status code."""
        self.body = body
        """The `Status` object of the answer."""


def find_server() -> str:
    """Returns the path of the server: $ORLOP_BIN, the one in this package, or `apiserver` on PATH.

    Raises StartError if there is none.
    """
    chosen = os.environ.get("ORLOP_BIN")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise StartError(f"ORLOP_BIN={chosen}: there is no program that can be run")
        return chosen
    packaged = pathlib.Path(__file__).with_name("bin") / "apiserver"
    if packaged.exists():
        return str(packaged)
    on_path = shutil.which("apiserver")
    if on_path:
        return on_path
    raise StartError(
        "the program `apiserver` is neither in this package nor on PATH: build it with "
        "`cargo build --release -p apiserver`, and set ORLOP_BIN to its path"
    )


class TestServer:
    """A running server. Use it in a `with` statement, or call `stop`.

    Any number of them can run at once: each has its own port, directory and objects.
    """

    __test__ = False  # not a test case, whatever its name

    def __init__(
        self,
        flags: Sequence[str] = (),
        crds: Iterable[StrPath] = (),
        server: Optional[StrPath] = None,
        start_timeout_seconds: float = 30.0,
    ):
        """Starts a server, and returns when it is ready.

        `flags` are flags of the server. `crds` are files with CustomResourceDefinitions, or directories of such files. Raises
        StartError with the server's messages if it does not start, ApiError if a definition is refused.
        """
        self._program = os.fspath(server) if server is not None else find_server()
        self._messages = tempfile.TemporaryFile()
        command = [self._program, *flags, "test", "--", "sh", "-c", WAIT_FOR_END_OF_INPUT]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._messages
            )
        except OSError as error:
            raise StartError(f"{self._program}: {error}") from error
        try:
            self.kubeconfig_path = self._await_kubeconfig(start_timeout_seconds)
            """The path of the kubeconfig of an administrator."""
            self.directory = os.path.dirname(self.kubeconfig_path)
            """The temporary directory of the server: keys and certificates."""
            config = self.kubeconfig("admin", [ADMIN_GROUP])
            self.url: str = config["clusters"][0]["cluster"]["server"]
            """The URL of the server."""
            self._tls = self._tls_context()
            self.create_crds(crds)
        except BaseException:
            self.stop()
            raise

    # === Users ===

    def kubeconfig(self, user: str, groups: Iterable[str] = ()) -> dict[str, Any]:
        """Returns a kubeconfig for a user, with a new client certificate.

        The user may do what RBAC allows; the group `system:masters` may do everything.
        """
        command = [self._program, f"--data-dir={self.directory}", "kubeconfig", f"--user={user}"]
        command += [f"--group={group}" for group in groups]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise StartError(f"no kubeconfig for {user}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def client(self, user: str = "admin", groups: Iterable[str] = (ADMIN_GROUP,)) -> Any:
        """Returns a `kubernetes.client.ApiClient` for a user; the package `kubernetes` must be installed."""
        try:
            from kubernetes import config
        except ImportError as error:
            raise ImportError("client() needs the package kubernetes: install orlop-test[kubernetes]") from error

        return config.new_client_from_config_dict(self.kubeconfig(user, groups))

    # === Requests ===

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Sends a request as the administrator, and returns the object of the answer.

        A body that is neither text nor bytes is sent as JSON. Raises ApiError for an answer of 400 and above.
        """
        address = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=self._tls, timeout=60)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        is_json = response.headers.get_content_type() == "application/json"
        answer = json.loads(text) if is_json else text
        if response.status >= 400:
            raise ApiError(response.status, answer)
        return answer

    def create_crds(self, paths: Iterable[StrPath], timeout_seconds: float = 30.0) -> list[str]:
        """Creates the CustomResourceDefinitions in files or directories, and waits until they are served.

        Documents of other kinds are passed over, as envtest does. Returns the names of the definitions.
        """
        documents = [document for path in paths for document in _definitions(pathlib.Path(path))]
        created = [self.request("POST", DEFINITIONS_PATH, text, "application/yaml") for text in documents]
        names = [definition["metadata"]["name"] for definition in created]
        deadline = time.monotonic() + timeout_seconds
        for name in names:
            self._await_established(name, deadline)
        return names

    def create_namespace(self, prefix: str = "test-") -> str:
        """Creates a namespace with a name that no other has, and returns the name."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": prefix}}
        return self.request("POST", "/api/v1/namespaces", body)["metadata"]["name"]

    # === The end ===

    def stop(self) -> None:
        """Stops the server, and removes all it has written. A second call does nothing."""
        process = self._process
        if process.stdin and not process.stdin.closed:
            process.stdin.close()
        for end in (None, process.terminate, process.kill):
            if end:
                end()
            try:
                process.wait(timeout=5)
                break
            except subprocess.TimeoutExpired:
                continue
        if process.stdout:
            process.stdout.close()
        self._messages.close()

    def __enter__(self) -> "TestServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # === Within ===

    def _await_kubeconfig(self, timeout_seconds: float) -> str:
        output = self._process.stdout
        assert output is not None
        # The pipe is closed when the server ends, so that the read returns.
        timer = threading.Timer(timeout_seconds, self._process.kill)
        timer.start()
        line = output.readline().decode().strip()
        timer.cancel()
        if line:
            return line
        status = self._process.wait()
        self._messages.seek(0)
        messages = self._messages.read().decode(errors="replace").strip()
        raise StartError(f"the server ended with {status} before it was ready:\n{messages}")

    def _tls_context(self) -> ssl.SSLContext:
        keys = os.path.join(self.directory, "pki")
        context = ssl.create_default_context(cafile=os.path.join(keys, "ca.crt"))
        context.load_cert_chain(os.path.join(keys, "admin.crt"), os.path.join(keys, "admin.key"))
        return context

    def _await_established(self, name: str, deadline: float) -> None:
        while True:
            definition = self.request("GET", f"{DEFINITIONS_PATH}/{name}")
            # `null` until the first condition is there.
            conditions = definition.get("status", {}).get("conditions") or []
            if any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions):
                return
            if time.monotonic() > deadline:
                raise StartError(f"the definition {name} is not served: {json.dumps(conditions)}")
            time.sleep(0.01)


def _definitions(path: pathlib.Path) -> list[str]:
    """Returns the documents of a file or directory that are CustomResourceDefinitions."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml", ".json"))
    else:
        files = [path]
    documents = [text for file in files for text in re.split(r"(?m)^---(?:[ \t].*)?$", file.read_text())]
    found = [text for text in documents if _IS_DEFINITION.search(text)]
    if not found:
        raise StartError(f"{path}: contains no CustomResourceDefinition")
    return found


_IS_DEFINITION = re.compile(r"""(?m)(?:^|[{,\s])["']?kind["']?\s*:\s*["']?CustomResourceDefinition["']?\s*(?:[,}#]|$)""")
