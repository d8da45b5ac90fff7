"""The world of another locale: one is made for the test, where the sources of locales are there."""

import datetime
import locale
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hitpath.pytest_plugin.assertion import PrefixBroken, check
from hitpath.pytest_plugin.worlds import other_locale

SOURCES = Path("/usr/share/i18n/locales")
RULES = "You answer questions. Be brief."


@pytest.fixture(scope="module", params=["de_DE", "pt_BR"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A locale in a folder of its own."""
    name: str = request.param
    if shutil.which("localedef") is None or not (SOURCES / name).exists():
        pytest.skip("no localedef, or no sources of locales (Debian: the package locales)")
    made = tmp_path_factory.mktemp("locales") / f"{name}.UTF-8"
    command = ["localedef", "-i", name, "-f", "UTF-8", "--no-archive", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made


@pytest.fixture
def installed(made: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The only locale there is but for C's."""
    monkeypatch.setenv("LOCPATH", str(made.parent))
    return made.name


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": f"{text}. {RULES}"}, {"role": "user", "content": "hi"}]


def day() -> Any:
    return said(f"{datetime.date(2026, 11, 29):%A, %d %B, %x}")


def number() -> Any:
    return said(f"Price {1234567.5:n}")


def order() -> Any:
    return said(str(sorted(["zebra", "Äpfel", "apple", "ähnlich"], key=locale.strxfrm)))


def iso() -> Any:
    return said(f"{datetime.date(2026, 11, 29).isoformat()} {1234567.5}")


def test_any_installed_locale_that_writes_otherwise_is_taken(installed: str) -> None:
    before = locale.setlocale(locale.LC_ALL)
    assert other_locale() == installed
    assert locale.setlocale(locale.LC_ALL) == before


@pytest.mark.parametrize("build", [day, number, order])
def test_what_the_locale_writes_breaks_the_prefix(installed: str, build: Callable[[], Any]) -> None:
    before = locale.setlocale(locale.LC_ALL)
    with pytest.raises(PrefixBroken) as caught:
        check(build, hash_seeds=False)
    assert caught.value.world == f"with the locale {installed}"
    assert caught.value.difference.json_path == "messages[0].content"
    assert "fix      write dates and numbers without the locale" in str(caught.value)
    assert locale.setlocale(locale.LC_ALL) == before


def test_what_the_locale_does_not_write_is_stable(installed: str) -> None:
    checked = check(iso, hash_seeds=False)
    assert f"with the locale {installed}" in checked.worlds
    assert checked.not_checked == ()
