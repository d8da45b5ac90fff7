"""A small trace of each format: the examples of the documentation, and what a page cannot hold.
For tests that hold for every format. `SAMPLES` is name -> {file name: content}."""

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("trace-format.md", "formats-exports.md", "formats-results.md", "formats-tables.md")
_ENDINGS = {"json": "jsonl", "csv": "csv", "text": "log"}
_NEEDS_MAP = "when,request,keys"
_BLOCK = re.compile(r"^#{2,3} (?P<title>[^\n]*)$|^```(?P<kind>json|csv|text)\n(?P<body>.*?)^```$",
                    re.MULTILINE | re.DOTALL)  # fmt: skip


def _examples() -> dict[str, dict[str, bytes]]:
    """Each block is a whole file, named by its page, section and number."""
    return {name: {f"t.{ending}": body.encode()} for name, ending, body, _ in examples()}


def examples() -> list[tuple[str, str, str, str]]:
    """(name, ending of the file, content, the paragraph behind it) of every block."""
    found = []
    for page in PAGES:
        title, number = "", 0
        text = (DOCS / page).read_text()
        for match in _BLOCK.finditer(text):
            if match["title"] is not None:
                title, number = match["title"], 0
                continue
            if match["body"].startswith(_NEEDS_MAP):
                continue
            number += 1
            name = f"{page.removesuffix('.md')}: {title} {number}"
            behind = text[match.end() :].strip().split("\n\n")[0]
            found.append((name, _ENDINGS[match["kind"]], match["body"], behind))
    return found


def _baseten() -> bytes:
    rows = [
        {
            "timestamp_start_unix_ms": 1_700_000_000_000 + 500 * i,
            "prompt": "the text of it",
            "input_tokens": 40,
            "output_tokens": 4,
            "total_hashes": [1, 2, 3 + i],
            "provided_session_id": "s",
            "block_size": 16,
        }
        for i in range(3)
    ]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


_OWN = (
    b"arrival_s,id,prompt_tokens,block_size,block_keys,session\n"
    b"0,a,40,16,k0 k1 k2,s\n1,b,64,16,k0 k1 k3 k4,s\n"
)
SAMPLES: dict[str, dict[str, bytes]] = {
    **_examples(),
    "baseten": {"t.parquet": _baseten()},
    "own names in a table": {"t.csv": _OWN},
}


def write_sample(name: str, folder: Path) -> list[str]:
    """Write one sample's files; returns their paths."""
    paths = []
    for file, content in SAMPLES[name].items():
        path = folder / file
        path.write_bytes(content)
        paths.append(str(path))
    return paths
