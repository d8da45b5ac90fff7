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
    r"|(?:http-)?referr?er[ ]?:[ ]?https?://[^\n]{1,400}"
    r"|(?:user[-_]?agent|(?:user[ ]agent|ua)(?=[ ]?[:=][^\n]{0,200}/\d))[ ]?[:=][^\n]{1,400}"
    r")[ \t]{0,8}$)",
    re.MULTILINE,
)
"""Matched where a line begins: a whole one, without its end."""

_PROGRAM = (
    r"(?:client|app(?:lication)?|sdk|cli|ide|editor|extension|plug-?in|cliente|klient|clients?|"
    r"aplicaci[oó]n|aplicativo|applicazione|anwendung|applicatie|aplikacja|uygulama|istemci|"
    r"клиент|приложение|客户端|客戶端|应用(?:程序)?|應用程式|クライアント|アプリ(?:ケーション)?|"
    r"클라이언트|앱)"
)
_SENT = (
    r"(?:(?:this )?(?:request|prompt|message|call) )?(?:is |was )?(?:"
    r"(?:sent|issued|made|submitted) (?:by|from|via|with|through)|request(?:ed)? (?:by|from|via)|"
    r"gesendet (?:von|mit|über|via)|envoyée? (?:par|depuis|avec|via)|"
    r"enviad[oa] (?:por|desde|con|de|com|via)|inviat[oa] (?:da|con|tramite)|"
    r"verzonden (?:met|via|door)|отправлено (?:из|через|с)|发送自|發送自|送信元|보낸 앱)"
)
_NAME = r"(?:@[\w.-]{1,40}/)?[^\W\d_][\w.+&-]{0,40}(?:[ ][^\W\d_][\w.+&-]{0,40}){0,3}"
_NUMBERS = r"\d{1,6}(?:\.\d{1,8})"
_DAY, _MONTH = r"(?:0[1-9]|[12]\d|3[01])", r"(?:0[1-9]|1[0-2])"
_NO_DATE = rf"(?!(?:\d{{1,2}}\.\d{{1,2}}\.(?:19|20)\d\d|{_DAY}\.{_MONTH}\.\d\d)(?!\w))"
_SUFFIX = r"(?:[-+_~.]?[A-Za-z0-9][\w.+~-]{0,60})?+"
_VERSION = (
    rf"(?:[ ]?[/@][ ]?v?|[ ]\(?v(?:ersion|er\.?|\.)?[ ]?){_NO_DATE}{_NUMBERS}{{1,4}}{_SUFFIX}"
    rf"|[ ]\(?{_NO_DATE}{_NUMBERS}{{2,4}}{_SUFFIX}"
)
"""Behind a name: `/1.96.0`, `@0.32.1`, ` v2.1`, ` 1.94.0`; no date, no price."""
_FOREIGN = (
    r"[ ,;|(]{1,3}(?:(?:x-)?(?:request|req|rid|session|sess|trace|span|conversation|conv|thread|"
    r"user|customer|account|tenant|guest|name|e-?mail|time(?:stamp)?|date|now|turn|step|seed|"
    r"message|msg|id|locale|lang|language|plan|tier)(?:[ _-]?(?:id|name|no|number))?"
    r"(?:[ ]?[:=#]|[ ](?=[\w-]{0,40}\d))|"
    r"(?:(?:at |on )?(?:\d{1,2}:\d\d|\d{4}[-/]\d\d[-/]\d\d)|on \d{1,4}[./]\d{1,2}[./]\d))"
)
"""What is no part of what a client says of itself: whose request it is, which one, when."""
_MORE = rf"[^\n.?! ,;|(]|(?!{_FOREIGN})[ ,;|(]|\.(?=\w)|[?!](?=\w)"
_TAIL = rf"(?:(?=[ ,;|()\]/<>`*\"-])(?:{_MORE}){{0,120}}+)?\.?"
CLIENT = re.compile(
    r"(?i:[ \t>*#/\[(<!-]{0,8}(?:x[-_])?(?:"
    r"(?:(?:api|http|web|mobile|desktop|native|chat|calling|host|current)[ _-])?"
    rf"{_PROGRAM}(?:[ _-]?(?:names?|info|software|id|string|used))?"
    r"(?:[ ]?(?:and|&|/|,)[ ]?version)?[*_`]{0,2}[ ]?(?:[:=>：]|[ ]-[ ])"
    rf"[ *_`(\[]{{0,4}}{_NAME}(?:{_VERSION})"
    rf"|{_PROGRAM}(?:[ _-]?version|版本|バージョン|[ ]버전|версия)[*_`]{{0,2}}[ ]?[:=>：]"
    rf"[ *_`(\[]{{0,4}}(?:{_NAME}[ /@])?v?{_NO_DATE}{_NUMBERS}{{1,4}}{_SUFFIX}"
    rf"|{_SENT}[ :]{{0,2}}{_NAME}(?:{_VERSION})"
    rf"){_TAIL}(?:[ \t]{{0,8}}$|(?={_FOREIGN})))",
    re.MULTILINE,
)
"""The same: a line that names a program and its version, to its end or to what is not the
client's. `Client: Maria Ito` is a person."""

LINE_STARTS = re.compile(r"^(?=[ \t>*#/\[(<!-]{0,8}[^\W\d_])", re.MULTILINE)

PARTS = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[\w./+@~-]{1,400}"
    r"|[A-Za-z]:\\Users\\[\w. -]{1,60}\\AppData\\Local\\Temp\\[\w.\\~-]{1,400}"
    r"|[Pp](?:rocess )?(?:ID|id)[ ]?[:=#]?[ ]?\d{1,10}(?![A-Za-z0-9_])"
    r"|PID[ ]?[:=#]?[ ]?\d{1,10}(?![A-Za-z0-9_])"
    r"|c(?:c_version|ch)=[\w.]{1,80}"
)
"""Parts of a line: temporary files, process ids, and the fields of the header."""
