"""The package against a real server: ORLOP_BIN names it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import kubernetes
import pytest
import yaml

from orlop_test import ApiError, StartError, TestServer

WIDGETS = pathlib.Path(__file__).with_name("widgets.yaml")


def await_gone(server, path, seconds=10.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            server.request("GET", path)
        except ApiError as error:
            assert error.status == 404
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} is still there")


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "value"}}


def test_a_namespace_ends_with_its_objects(orlop, orlop_namespace):
    path = f"/api/v1/namespaces/{orlop_namespace}"
    orlop.request("POST", f"{path}/configmaps", config_map("first"))
    orlop.request("DELETE", path)
    await_gone(orlop, path)
    await_gone(orlop, f"{path}/configmaps/first")


def test_a_pod_is_admitted_at_once(orlop, orlop_namespace):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"containers": [{"name": "main", "image": "image"}]},
    }
    with TestServer() as fresh:
        created = fresh.request("POST", "/api/v1/namespaces/default/pods", pod)
    assert created["spec"]["serviceAccountName"] == "default"


def test_definitions_are_served_when_they_have_been_created(orlop):
    assert orlop.create_crds([WIDGETS]) == ["widgets.example.com"]
    path = "/apis/example.com/v1/namespaces/default/widgets"
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 0}}
    with pytest.raises(ApiError) as refused:
        orlop.request("POST", path, widget)
    assert refused.value.status == 422
    assert "spec.size in body should be greater than or equal to 1" in str(refused.value)
    widget["spec"]["size"] = 1
    assert orlop.request("POST", path, widget)["spec"] == {"size": 1}


@pytest.mark.parametrize("form", ["one line of JSON", "a comment behind the kind"])
def test_definitions_are_found_in_every_notation(tmp_path, form):
    _, text = WIDGETS.read_text().replace("widget", "gadget").replace("Widget", "Gadget").split("---\n")
    if form == "one line of JSON":
        text = json.dumps(yaml.safe_load(text))
    else:
        text = text.replace("kind: CustomResourceDefinition", "kind: CustomResourceDefinition # of gadgets")
    file = tmp_path / "gadgets.yaml"
    file.write_text(text)
    with TestServer() as fresh:
        assert fresh.create_crds([file]) == ["gadgets.example.com"]


def test_a_file_without_definitions_is_an_error(orlop, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    with pytest.raises(StartError, match="contains no CustomResourceDefinition"):
        orlop.create_crds([other])
    with pytest.raises(FileNotFoundError):
        orlop.create_crds([tmp_path / "absent.yaml"])


def test_users_may_do_what_rbac_allows(orlop, orlop_namespace):
    core = kubernetes.client.CoreV1Api(orlop.client("jane", ["devs"]))
    with pytest.raises(kubernetes.client.ApiException) as refused:
        core.list_namespaced_config_map(orlop_namespace)
    assert refused.value.status == 403
    assert 'User \\"jane\\" cannot list resource' in refused.value.body
    admin = kubernetes.client.RbacAuthorizationV1Api(orlop.client())
    binding = {
        "metadata": {"name": "devs"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}],
    }
    admin.create_namespaced_role_binding(orlop_namespace, binding)
    deadline = time.monotonic() + 5
    while True:
        try:
            core.list_namespaced_config_map(orlop_namespace)
            break
        except kubernetes.client.ApiException:
            assert time.monotonic() < deadline, "the binding has no effect"
            time.sleep(0.02)


def test_servers_in_parallel_are_separate():
    def count(number):
        with TestServer() as server:
            for index in range(number):
                server.request("POST", "/api/v1/namespaces/default/secrets", secret(f"s{index}"))
            listed = server.request("GET", "/api/v1/namespaces/default/secrets")
            return len(listed["items"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(4))) == [0, 1, 2, 3]


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


def test_a_server_that_has_been_stopped_leaves_nothing():
    server = TestServer()
    directory = server.directory
    assert os.path.exists(directory)
    server.stop()
    server.stop()
    assert not os.path.exists(directory)


def test_a_wrong_flag_is_an_error_with_the_servers_message():
    with pytest.raises(StartError, match="--no-such-flag"):
        TestServer(flags=["--no-such-flag"])


def test_a_program_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("ORLOP_BIN", "/nonexistent/apiserver")
    with pytest.raises(StartError, match="ORLOP_BIN=/nonexistent/apiserver"):
        TestServer()


def test_a_server_that_hangs_is_ended(tmp_path):
    hanging = tmp_path / "apiserver"
    hanging.write_text("#!/bin/sh\nexec sleep 1000\n")
    hanging.chmod(0o755)
    with pytest.raises(StartError, match="before it was ready"):
        TestServer(server=hanging, start_timeout_seconds=0.2)


def test_nothing_is_left_when_the_test_process_is_killed():
    program = """
        import time
        from orlop_test import TestServer
        server = TestServer()
        print(server.directory, server._process.pid, flush=True)
        time.sleep(1000)
    """
    source = str(pathlib.Path(__file__).parent.parent / "src")
    environment = dict(os.environ, PYTHONPATH=source)
    command = [sys.executable, "-c", textwrap.dedent(program)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    directory, pid = child.stdout.readline().split()
    child.send_signal(signal.SIGKILL)
    child.wait()
    deadline = time.monotonic() + 10
    while os.path.exists(directory) or os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline, "the server goes on"
        time.sleep(0.02)
