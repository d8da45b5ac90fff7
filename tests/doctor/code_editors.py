"""Editors that ask for a completion at the cursor: an author types a function into a file, line by
line, and each pause is a request. Written by hand from the documented prompts of the models; no
rule of the doctor is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FILE = [
    '"""Orders of a small shop."""',
    "",
    "import json",
    "from dataclasses import dataclass",
    "",
    "LIMIT = 40",
    "RATE = 0.19",
    "",
    "",
    "@dataclass",
    "class Order:",
    "    number: int",
    "    items: list[str]",
    "    paid: bool = False",
    "",
    "    def total(self, prices):",
    "        found = 0",
    "        for item in self.items:",
    "            found += prices[item]",
    "        return round(found * (1 + RATE), 2)",
    "",
    "",
    "def load(path):",
    "    with open(path) as file:",
    "        return [Order(**row) for row in json.load(file)]",
    "",
    "",
    "def unpaid(orders):",
    "    return [order for order in orders if not order.paid]",
    "",
    "",
    "def by_number(orders):",
    "    return {order.number: order for order in orders}",
    "",
    "",
    "def first(orders, limit=LIMIT):",
    "    return sorted(orders, key=lambda order: order.number)[:limit]",
    "",
    "",
    'if __name__ == "__main__":',
    '    print(len(unpaid(load("orders.json"))))',
]
TYPED = (
    "def names(orders):\n    found = set()\n    for order in orders:\n"
    "        found.update(order.items)\n    return sorted(found)\n"
)
AT_LINE = 26
OTHERS = {
    "models/user.py": "class User:\n    name: str\n    city: str\n\n    def label(self):\n"
    "        return f'{self.name} ({self.city})'\n",
    "tools/mail.py": "def send(to, text):\n    connection = open_connection('mail')\n"
    "    connection.write(to, text)\n    connection.close()\n",
    "assistant/report.py": "def report(orders):\n    lines = [f'{o.number}' for o in orders]\n"
    "    return '\\n'.join(lines)\n",
}

LAYOUTS: dict[str, Any] = {
    "qwen": lambda p, s: f"<|fim_prefix|>{p}<|fim_suffix|>{s}<|fim_middle|>",
    "starcoder": lambda p, s: f"<fim_prefix>{p}<fim_suffix>{s}<fim_middle>",
    "santacoder": lambda p, s: f"<fim-prefix>{p}<fim-suffix>{s}<fim-middle>",
    "deepseek": lambda p, s: f"<｜fim▁begin｜>{p}<｜fim▁hole｜>{s}<｜fim▁end｜>",
    "codellama": lambda p, s: f"<PRE> {p} <SUF>{s} <MID>",
    "glm": lambda p, s: f"<|code_prefix|>{p}<|code_suffix|>{s}<|code_middle|>",
    "codellama_spm": lambda p, s: f"<PRE> <SUF>{s} <MID> {p}",
    "starcoder_spm": lambda p, s: f"<fim_prefix><fim_suffix>{s}<fim_middle>{p}",
    "codestral_spm": lambda p, s: f"<s>[SUFFIX]{s}[PREFIX]{p}",
    "seed_spm": lambda p, s: f"<[fim-suffix]>{s}<[fim-prefix]>{p}<[fim-middle]>",
    "mellum_spm": lambda p, s: f"<filename>shop.py\n<fim_suffix>{s}<fim_prefix>{p}<fim_middle>",
    "zed": lambda p, s: (
        "### Instruction:\nComplete the code at the cursor.\n\n### Excerpt:\n```shop.py"
        f"\n{p}<|user_cursor_is_here|>{s}\n```\n\n### Response:\n"
    ),
}
FILES: dict[str, Any] = {
    "qwen": lambda files: "<|repo_name|>shop\n" + "".join(
        f"<|file_sep|>{name}\n{text}\n" for name, text in files
    ) + "<|file_sep|>shop.py\n",
    "starcoder": lambda files: "<repo_name>shop" + "".join(
        f"<file_sep>{name}\n{text}" for name, text in files
    ) + "<file_sep>shop.py\n",
    "codestral_spm": lambda files: "".join(
        f"+++++ {name}\n{text}\n\n" for name, text in files
    ) + "+++++ shop.py\n",
    "deepseek": lambda files: "".join(
        f"# Path: {name}\n" + "".join(f"# {line}\n" for line in text.splitlines())
        for name, text in files
    ) + "# Path: shop.py\n",
}  # fmt: skip


@dataclass
class Asked:
    """One request: lines of the file (the cursor's place in them by line and column), and what is
    put in front."""

    lines: list[str]
    line: int
    column: int
    files: list[tuple[str, str]] = field(default_factory=list)
    header: str = ""
    end: str = "\n"

    @property
    def before(self) -> str:
        return self.end.join([*self.lines[: self.line], self.lines[self.line][: self.column]])

    @property
    def after(self) -> str:
        return self.end.join([self.lines[self.line][self.column :], *self.lines[self.line + 1 :]])


def typed(num: int = 14, step: int = 5, file: list[str] | None = None) -> list[Asked]:
    """The file while the function is typed into it."""
    found = []
    for number in range(num):
        text = TYPED[: 4 + step * number]
        new = text.split("\n")
        lines = [*(file or FILE)]
        lines[AT_LINE:AT_LINE] = new
        found.append(Asked(lines, AT_LINE + len(new) - 1, len(new[-1])))
    return found


def moved_down(num: int = 12) -> list[Asked]:
    """The cursor goes down the file, some lines at a time: what stood behind it stands before."""
    return [Asked([*FILE], 4 + 3 * number, len(FILE[4 + 3 * number])) for number in range(num)]


def prompt_of(asked: Asked, layout: str) -> str:
    """As the layout has it: the files of the repository before all, or before the document where
    its model has them there."""
    files = FILES[layout](asked.files) if asked.files else ""
    before = asked.header + asked.before
    if layout in ("codestral_spm", "deepseek"):
        return LAYOUTS[layout](files + before, asked.after)  # type: ignore[no-any-return]
    return files + str(LAYOUTS[layout](before, asked.after))


def rows_of(prompts: list[str], session: bool, chat: bool = False) -> list[dict[str, Any]]:
    """Rows of hitpath's own, a pause of two seconds apart; chat: as the text of a message."""
    rows = []
    for number, prompt in enumerate(prompts):
        row: dict[str, Any] = {"id": f"r{number}", "arrival_s": 1.77e9 + 2 * number}
        if session:
            row["session"] = "editor"
        if chat:
            system = {"role": "system", "content": SYSTEM}
            row["messages"] = [system, {"role": "user", "content": prompt}]
        else:
            row["prompt"] = prompt
        rows.append(row)
    return rows


SYSTEM = (
    "You complete code. The prompt holds the text before the cursor and the text behind it. Answer "
    "with the code that stands between the two, and with nothing else; no fences, no words."
)
