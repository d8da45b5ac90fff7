"""The command that made a page, parted into what repeats the analysis and where results went."""

import shlex

from hitpath.report.html.view import Command

_WITH_FILE = (
    "--json",
    "--per-request",
    "--ledger",
    "--svg",
    "--png",
    "--html",
    "--perfetto",
    "--table",
    "--sarif",
)
_ALONE = ("--show-text",)


def parted(command: str) -> Command:
    """`command`: as a shell takes it; what no shell takes is repeated as it is."""
    try:
        words = shlex.split(command)
    except ValueError:
        return Command(command, "")
    repeat: list[str] = []
    files: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":  # only names of traces follow
            repeat += [word, *words]
            break
        if word in _WITH_FILE and words:
            files += [word, words.pop(0)]
        elif word in _ALONE or ("=" in word and word.partition("=")[0] in _WITH_FILE):
            files.append(word)
        else:
            repeat.append(word)
    return Command(shlex.join(repeat), shlex.join(files))
