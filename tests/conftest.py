"""Options and settings that hold for all tests."""

import pytest
from hypothesis import settings

settings.register_profile("hitpath", deadline=None, derandomize=True)
settings.load_profile("hitpath")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden anew; say in the commit why the numbers changed",
    )
