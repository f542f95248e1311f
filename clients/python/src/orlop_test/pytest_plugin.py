"""Fixtures for pytest."""

from __future__ import annotations

from typing import Iterator

import pytest

from .server import ApiError, TestServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the settings of the fixture `orlop`."""
    parser.addini("orlop_flags", "flags of the server of the fixture `orlop`", type="args", default=[])
    parser.addini(
        "orlop_crds", "files and directories of CustomResourceDefinitions for `orlop`", type="paths", default=[]
    )


@pytest.fixture(scope="session")
def orlop(pytestconfig: pytest.Config) -> Iterator[TestServer]:
    """A server for all tests of the session. The settings `orlop_flags` and `orlop_crds` are its flags and definitions."""
    with TestServer(flags=pytestconfig.getini("orlop_flags"), crds=pytestconfig.getini("orlop_crds")) as server:
        yield server


@pytest.fixture
def orlop_namespace(orlop: TestServer) -> Iterator[str]:
    """The name of a namespace that exists for one test. It is deleted afterwards, with all in it."""
    name = orlop.create_namespace()
    yield name
    try:
        orlop.request("DELETE", f"/api/v1/namespaces/{name}")
    except ApiError as error:
        if error.status not in (404, 409):  # the test has deleted it
            raise
