"""Words that tell what a field is for, by which otherwise equal shapes are told apart."""

import re

USER = re.compile(
    r"(?i)(?<![a-z])(?:users?|user_?names?|customers?|clients?|accounts?|tenants?|e-?mail|names?|org(?:anisation|"
    r"anization)?s?|compan(?:y|ies)|workspace|locale|languages?|lang|time\s?zones?|tz|plan|tier|"
    r"roles?|"
    r"location|city|countr(?:y|ies)|region|phone|address|subscription|preferr?ed|preferences?|"
    r"members?|"
    r"patient|student|pupil|employee|department|team|profile|persona|age|birthday|title|greet|dear|hello|"
    r"speaking (?:with|to)|talking to|assisting|hi|i am|i'm|my name|called|human|person|caller|"
    r"guest|visitor|learner|player|owner|du hilfst|(?:signed|logged) in(?: as)?|"
    r"working directory|cwd|home|hostname|"
    r"platform|branch|"
    r"klant|gebruiker|usuário|utente|pengguna|kullanıcı|müşteri|użytkownik|"
    r"klient|användare|kund|bruger|käyttäjä|пользователь|клиент|用户|客户|ユーザー|顧客|사용자|고객|"
    r"المستخدم|العميل|interests|hobbies|skills|goals|allerg(?:y|ies)|diet|benutzer|kunde|nutzer|utilisateur|cliente|usuario|memory|memories|likes|currency)(?![a-z])"
)
SAMPLE = re.compile(
    r"(?i)(?<![a-z])(?:examples?|samples?|random(?:ly)?|few-?shots?|shots?|tips?|facts?|quotes?|seeds?|"
    r"nonces?|salt|demos?|demonstrations?|hints?|inspirations?|variants?|variation|joke|trivia|"
    r"beispiele?|ejemplos?|exemples?|esemp(?:io|i)|exemplos?|voorbeeld(?:en)?|przykład\w{0,4}|"
    r"örnek\w{0,4}|пример\w{0,2}|示例|例子|例|예시|"
    r"temperature|noise|jitter|dice|roll|lucky|entropy|cache[- ]?bust(?:er)?|padding|icebreaker)"
    r"(?![a-z])"
)
REQUEST = re.compile(
    r"(?i)(?<![a-z])(?:requests?|req|idempotency|trace(?:parent)?|correlation|span|ulid|uuid|guid|nonce|transaction|"
    r"invocation|execution|completion|run|job|event|message)(?:[\s_-]?ids?)?(?![a-z])"
)
COUNTED = re.compile(
    r"(?i)(?:#|no\.|№|\bnr\b|\bn[°º]|\b(?:answer|reply|question|réponse|respuesta|risposta|antwort|"
    r"anfrage|frage|nachricht|mensaje|versuch|tentative|intento|schritt|étape|paso|runde)\b|(?<![a-z])(?:turns?|steps?|counts?|counter|iterations?|attempts?|"
    r"requests?|messages?|calls?|sequence|seq|number|num|rounds?|retr(?:y|ies)|index|used|remaining|"
    r"left|budget|spent|so far|total|queries|query|version|revision|rev|build|epoch|tick|nth|visit|"
    r"conversation|session|exchange|interaction|elapsed|uptime|loop|cycle|poll)(?![a-z]))"
)
SUMMARY = re.compile(
    r"(?i)(?:summar(?:y|ised|ized|ise|ize)|compact(?:ed|ion)|condensed|recap|"
    r"(?:conversation|discussion|chat|session|messages|turns|history|happened|said|done|work|"
    r"progress) so far|"
    r"earlier (?:conversation|messages|turns)|previous (?:conversation|messages|turns|context)|"
    r"conversation (?:history|so far)|being continued|zusammenfassung|résumé)"
)
CONTINUED = re.compile(
    r"(?i)(?:session|conversation|chat|dialogue) (?:is|was) (?:being )?continued|"
    r"(?:summary|recap|digest) of (?:the |our |this |all |what )?(?:\w+ )?(?:conversation|chat|"
    r"session|dialogue|messages|turns|history|discussion|happened|was said)|(?:conversation|chat|"
    r"session|previous|earlier|history)[ _-]summary|<(?:summary|conversation_summary|compacted)>|"
    r"(?:conversation|history|context|messages|turns) (?:\w+ ){0,3}(?:compacted|summari[sz]ed|"
    r"condensed)"
)
TURN = re.compile(
    r"(?i)(?:user|human|customer|client|q|question|frage|pregunta|benutzer|usuario|utilisateur|用户|"
    r"ユーザー|사용자|пользователь|klant)\s*[:：]\s*$"
)
CLEARED = re.compile(
    r"(?i)(?:content|result|output|message|history|tool|text|lines?|chars?|characters|tokens|bytes)?"
    r"[^\n]{0,40}(?:cleared|truncated|omitted|elided|removed|pruned|trimmed|snipped|redacted|"
    r"compacted|collapsed|shortened|dropped|hidden|evicted)"
)
_THOUGHTS = (
    "(?:(?:seed:)?think|thinking|thoughts?|reasoning(?:_content)?|reflection|scratchpad|"
    "inner_monologue|antthinking|deliberation)"
)
_IN_BRACKETS = "(?:THINK|THINKING|THOUGHTS?|REASONING)"
THINK = re.compile(
    rf"(?i)</?{_THOUGHTS}>|◁/?think▷|\[(?:/|BEGIN_|END_|START_)?{_IN_BRACKETS}\]"
    r"|<\|(?:begin|start|end)_(?:of_)?(?:thought|thinking|reasoning)\|>|<\|channel\|>analysis"
)
THOUGHT = re.compile(
    rf"(?is)<{_THOUGHTS}>.*?(?:</{_THOUGHTS}>|\Z)|◁think▷.*?(?:◁/think▷|\Z)"
    rf"|\[(?:BEGIN_|START_)?{_IN_BRACKETS}\].*?(?:\[(?:/|END_){_IN_BRACKETS}\]|\Z)"
    r"|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)"
    r"|<\|(?:begin|start)_(?:of_)?(?:thought|thinking|reasoning)\|>.*?"
    r"(?:<\|end_(?:of_)?(?:thought|thinking|reasoning|solution)\|>|\Z)"
)
MARKER = re.compile(
    r"<\|[a-z0-9_]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|<\uff5c[^>]{1,40}\uff5c>"
    r"|(?<!\w)/(?:no_)?think\b|<bos>|<eos>|\[/?(?:AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|\[THINK\]|\[/THINK\]"
)
TAG = re.compile(
    r"(?:\[/?[A-Z][A-Z_ ]{1,20}\]|<[|/]?[a-z][a-z_]{1,20}\|?>|/[a-z][a-z_]{2,15}|<<[A-Z_]{2,20}>>)"
)
"""A mark that stands alone before or behind what a user said."""
ATTRIBUTION = re.compile(
    r"(?i)x-anthropic-billing-header|cc_version\s*=|cch\s*=|cc_entrypoint\s*=|billing-header|"
    r"co-authored-by:|generated with \[?claude|x-(?:client|app|request)-attribution|attribution:"
)
WORD_CLOCK = re.compile(
    r"(?i)(?:good )?(?:(?:early|late|mid)[- ])?"
    r"(?:morning|afternoon|evening|night|noon|midnight|am|pm|a\.m\.|p\.m\.|today|yesterday|"
    r"tomorrow|weekday|weekend|spring|summer|autumn|fall|winter|just now|"
    r"(?:\d+|an?|one|two|three|four|five|ten) (?:second|minute|hour|day|week)s?(?: ago)?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|q[1-4]|w\d{1,2})"
)
CLOCK_LABEL = re.compile(
    r"(?i)(?:time|date|today|now|clock|timestamp|\bts\b|uptime|as of|generated at|elapsed|epoch|"
    r"uhrzeit|datum|heure|fecha|hora|weekday|day of|heute|jetzt|aujourd|hoy|hoje|oggi|bugün|tarih|"
    r"saat|dziś|godz|dato|vandaag|التاريخ|الوقت|الساعة|اليوم|الآن|сегодня|сейчас|дата|время|今天|今日|"
    r"现在|現在|日期|时间|時間|時刻|日時|오늘|현재|날짜|시간|समय|तारीख|दिनांक|วันที่|เวลา|"
    r"current (?:hour|day|month|year)|"
    r"(?<![a-z])(?<!per )(?:hour|minute|month|year)\s?[:=]\s?$)"
)
