"""Options and settings that hold for all tests."""

import pytest
from hypothesis import settings

from hitpath.core import Setting
from hitpath.spine import analyze_trace
from hitpath.traces import read_trace
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

settings.register_profile("hitpath", deadline=None, derandomize=True)
settings.load_profile("hitpath")


@pytest.fixture(scope="session", autouse=True)
def _kernels_are_compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A first run announces that it compiles; tests of standard error must not see that."""
    path = str(write_jsonl(tmp_path_factory.mktemp("warm") / "t.jsonl", demo_rows(0)[:20]))
    for setting in (
        Setting(engine="lru", capacity_tokens=30_000),
        Setting(workers=2, router="prefix"),
    ):
        analyze_trace(read_trace([path]), setting)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden anew; say in the commit why the numbers changed",
    )
