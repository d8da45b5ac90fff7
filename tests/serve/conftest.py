"""One server on the small random model, for all tests of a file."""

import pytest

from serve.asking import Reference
from serve.running import tiny_server


@pytest.fixture(scope="module")
def served():
    running, engine = tiny_server()
    with running:
        yield running, engine


@pytest.fixture
def server(served):
    return served[0]


@pytest.fixture
def engine(served):
    return served[1]


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture(scope="session")
def reference():
    return Reference()
