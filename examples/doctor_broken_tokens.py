"""Two ways to break a prefix that only token ids show, their cures, and what the doctor says.

The text of these agents is the same broken and cured; the ids are not. Needs a tokenizer:
`pip install 'hitpath[text]'`. Give a folder, and the traces are kept there:

    python examples/doctor_broken_tokens.py traces
    hitpath doctor traces/retokenised_broken.jsonl --tokenizer mistral:tekken_240911
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from doctor_broken_agents import POLICY, TALK

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject
from hitpath.text.tokenizer import load_tokenizer

TOKENIZER = "mistral:tekken_240911"
Row = dict[str, Any]


def retokenised(is_cured: bool) -> list[Row]:
    """A model may write a word in other pieces than the tokenizer would. Broken, the agent keeps
    the reply's text and tokenises it again; cured, it keeps the ids that were generated."""
    encode = load_tokenizer(TOKENIZER).encode
    rows, ids = [], encode(POLICY.format(deposit=150)).tolist()
    for turn, (question, answer) in enumerate(TALK):
        ids += encode(f"\nGuest: {question}\nDesk:").tolist()
        written = [i for piece in (f" {answer[:2]}", answer[2:]) for i in encode(piece).tolist()]
        when = 1_764_400_000 + 67 * turn
        rows.append(
            {"id": f"{turn}", "arrival_s": when, "session": "a",
             "tokens": list(ids), "output_ids": written}
        )  # fmt: skip
        ids += written if is_cured else encode(f" {answer}").tolist()
    return rows


def seam_merge(is_cured: bool) -> list[Row]:
    """Broken, a prompt ends in the space before the reply: alone it is a token, and with the word
    behind it another one. Cured, the space comes with the reply."""
    end, begin = ("Desk:", " ") if is_cured else ("Desk: ", "")
    rows, text = [], POLICY.format(deposit=150)
    for turn, (question, answer) in enumerate(TALK):
        text += f"\nGuest: {question}\n{end}"
        when = 1_764_400_000 + 67 * turn
        rows.append({"id": f"{turn}", "arrival_s": when, "session": "a", "prompt": text})
        text += f"{begin}{answer}"
    return rows


AGENTS = (retokenised, seam_merge)


def main(folder: Path) -> None:
    """Write all traces and tell what is found in them."""
    print(f"{'broken by':<20}{'found':<20}{'requests':>9}{'hit rate':>10}{'cured':>8}")
    for agent in AGENTS:
        found = []
        for name, is_cured in (("broken", False), ("cured", True)):
            path = folder / f"{agent.__name__}_{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in agent(is_cured)))
            setting = Setting(tokenizer=TOKENIZER, block_size=1, outputs="insert")
            found.append(examine(open_subject([str(path)], setting), what_ifs=False))
        broken, cured = found
        first = broken.defects[0]
        rates = f"{broken.before or 0:>10.1%}{cured.before or 0:>8.1%}"
        print(f"{agent.__name__:<20}{first.kind:<20}{first.num_requests:>9}{rates}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
