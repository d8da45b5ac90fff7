"""`make demo-engine`: what it prints, and that it ends its server."""

import importlib.util
import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from serve.running import tiny_server
from serve.test_serve_process import SCRIPT

PATH = Path(__file__).resolve().parents[2] / "examples" / "demo_engine.py"


@pytest.fixture
def demo(monkeypatch):
    spec = importlib.util.spec_from_file_location("demo_engine", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROUNDS", 1)
    return module


def cells_of(page, name):
    (line,) = [row for row in page.splitlines() if re.match(rf"│ +{name} +│", row)]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_both_paths_side_by_side(demo):
    out = io.StringIO()
    running, _ = tiny_server()
    with running as server:
        demo.run(server.url, Console(file=out, width=100))
    page = out.getvalue()
    prompt = int(cells_of(page, "prompt tokens")[1].replace(",", ""))
    cached = (prompt - 1) // 16 * 16
    assert prompt > 3000
    assert cells_of(page, "hit tokens")[1:3] == ["0", f"{cached:,}"]
    assert cells_of(page, "computed")[1:3] == [f"{prompt:,}", f"{prompt - cached:,}"]
    assert cells_of(page, "hit rate")[1:3] == [
        "0.00 %",
        f"{cached / prompt:.2%}".replace("%", " %"),
    ]
    for name in ("tokenise", "queue", "lookup", "prefill", "time to first token", "decode"):
        assert all(cell.endswith(" ms") for cell in cells_of(page, name)[1:3])
    assert float(cells_of(page, "prefill")[3]) < 0.5  # nearly all of it was cached
    assert "same text on both paths (greedy): yes" in page
    assert "49." in page.split("by /metrics:")[1]  # half of the requests hit, warming up among them


def test_the_whole_program(demo, monkeypatch, capfd):
    monkeypatch.setattr(demo, "COMMAND", [sys.executable, "-c", SCRIPT, "0"])
    monkeypatch.setattr(sys, "argv", ["demo_engine.py"])
    demo.main()
    out = capfd.readouterr().out
    assert "hit path" in out
    assert "hitpath: stopping" in out
    assert "server ended with code 0" in out


def test_a_server_that_cannot_start_is_reported(demo, monkeypatch, capfd):
    command = [sys.executable, "-c", "import sys; sys.exit('hitpath: error: no')"]
    monkeypatch.setattr(demo, "COMMAND", command)
    monkeypatch.setattr(sys, "argv", ["demo_engine.py"])
    with pytest.raises(SystemExit) as caught:
        demo.main()
    assert caught.value.code == 1
    assert "hitpath: error: no" in capfd.readouterr().out
