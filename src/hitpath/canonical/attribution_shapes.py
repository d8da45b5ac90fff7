"""Lines that say who sends a request, and from where: attribution headers, git, folders, hosts.

`x-anthropic-billing-header: cc_version=...; cch=...` stands first in Claude Code's system prompt
and holds a checksum of each request (ggml-org/llama.cpp#20623, ollama/ollama#14918).
"""

import re

LINE = re.compile(
    r"(?i:[ \t>*-]{0,8}(?:"
    r"x-[a-z0-9-]{2,40}:[^\n]{0,2000}"
    r"|[^\n=]{0,40}(?<![a-z0-9_])(?:cc_version|cch)=[^\n]{0,2000}"
    r"|(?:current[ ]|git[ ])?branch(?:[ ]name)?[ ]?[:=][^\n]{1,200}"
    r"|on branch [^\n]{1,200}|your branch is [^\n]{1,300}"
    r"|(?:head|latest|last|current|git)?[ ]?(?:commit|revision|sha)(?:[ ](?:hash|sha|id))?[ ]?"
    r"[:=][ ]?[0-9a-f]{7,40}\b[^\n]{0,300}"
    r"|head is now at [^\n]{1,300}"
    r"|(?:git )?working (?:tree|directory) (?:clean|dirty)[^\n]{0,100}"
    r"|(?:cwd|pwd|(?:current |primary )?working director(?:y|ies))[ ]?[:=][^\n]{1,400}"
    r"|(?:host(?:name)?|machine(?:[ ]name)?|pod|container(?:[ _]id)?|node[ ]name)[ ]?"
    r"[:=][ ]?[^\s]{1,200}"
    r"|(?:process[ ]id|pid)[ ]?[:=][ ]?\d{1,10}"
    r"|(?:ip|client[ _-]?ip|remote[ _-]?addr(?:ess)?)[ ]?[:=][ ]?[0-9a-f.:]{3,45}"
    r"|user-?agent[ ]?[:=][^\n]{1,400}"
    r")[ \t]{0,8}$)",
    re.MULTILINE,
)
"""Matched where a line begins: a whole one, without its end."""

LINE_STARTS = re.compile(r"^(?=[ \t>*-]{0,8}[A-Za-z])", re.MULTILINE)

PARTS = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[\w./+@~-]{1,400}"
    r"|[A-Za-z]:\\Users\\[\w. -]{1,60}\\AppData\\Local\\Temp\\[\w.\\~-]{1,400}"
    r"|[Pp](?:rocess )?(?:ID|id)[ ]?[:=#]?[ ]?\d{1,10}(?![A-Za-z0-9_])"
    r"|PID[ ]?[:=#]?[ ]?\d{1,10}(?![A-Za-z0-9_])"
    r"|c(?:c_version|ch)=[\w.]{1,80}"
)
"""Parts of a line: temporary files, process ids, and the fields of the header."""
