"""Write docs/cli.md from the command's own help pages (`make docs`; a test compares them)."""

from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from hitpath.cli import app

HEAD = "# The command line\n\nMade by `make docs` from the command itself.\n"


def help_page(*command: str) -> str:
    """One help page at 100 columns."""
    runner = CliRunner(env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"})
    result = runner.invoke(app, [*command, "--help"], prog_name="hitpath")
    if result.exit_code:
        raise RuntimeError(result.output)
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def page() -> str:
    """The whole document."""
    commands = sorted(get_command(app).commands)  # type: ignore[attr-defined]
    pages = [("hitpath", ()), *((f"hitpath {name}", (name,)) for name in commands)]
    parts = [f"## `{title}`\n\n```\n{help_page(*names)}\n```\n" for title, names in pages]
    return "\n".join([HEAD, *parts])


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(page())
