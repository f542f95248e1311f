"""A Kubernetes API server for tests: in memory, on a free port, gone when the test process is gone."""

from .server import ApiError, StartError, TestServer, find_server

__all__ = ["ApiError", "StartError", "TestServer", "find_server"]
