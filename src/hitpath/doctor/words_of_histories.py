"""Words of notes that stand for what was left out of a history, and of summaries that stand for it.

In the languages in which clients write them. A word alone decides nothing: what became of the
messages does (history.py).
"""

import re

SUMMARY = re.compile(
    r"(?i)(?:summar(?:y|i[sz]ed)|compact(?:ed|ion)|condensed|(?<![a-z])recap|"
    r"(?:conversation|discussion|chat|session|messages|turns|history|happened|said|done|work|"
    r"progress|state|did|do|doing|covered|discussed) so far|"
    r"earlier (?:conversation|messages|turns)|previous (?:conversation|messages|turns|context)|"
    r"conversation (?:history|so far)|being continued|"
    r"(?<![a-z])(?:digest|gist|tl;?dr|hand-?off|abridged|rolling memory)(?![a-z])|"
    r"zusammenfassung|résumé|resumen|resumo|riassunto|riepilogo|samenvatting|sammanfattning|"
    r"sammendrag|oppsummering|yhteenveto|podsumowanie|streszczenie|shrnutí|özet|ringkasan|"
    r"rezumat|összefoglal|súhrn|souhrn|zhrnutie|povzetek|sažetak|opsummering|tiivistelmä|kokkuvõte|"
    r"kopsavilkums|santrauka|samantekt|resum de la|laburpen|tóm tắt|rumusan|muhtasari|buod ng|"
    r"περίληψη|σύνοψη|обобщение|резиме|сажетак|ամփոփ|შეჯამება|"
    r"резюме|краткое содержание|підсумок|摘要|总结|總結|要約|まとめ|요약|ملخص|סיכום|सारांश|"
    r"خلاصه|خلاصہ|সারাংশ|সারসংক্ষেপ|சுருக்கம்|సారాంశం|สรุป)"
)
CONTINUED = re.compile(
    r"(?i)(?:session|conversation|chat|dialogue) (?:is|was) (?:being )?continued|"
    r"(?:summary|recap|digest) of (?:the |our |this |all |what )?(?:\w+ )?(?:conversation|chat|"
    r"session|dialogue|messages|turns|history|discussion|happened|was said)|(?:conversation|chat|"
    r"session|previous|earlier|history)[ _-]summary|<(?:summary|conversation_summary|compacted)>|"
    r"(?:conversation|history|context|messages|turns) (?:\w+ ){0,3}(?:compacted|summari[sz]ed|"
    r"condensed)"
)
CLEARED = re.compile(
    r"(?i)(?:cleared|truncated|omitted|elided|removed|pruned|trimmed|snipped|redacted|"
    r"compacted|collapsed|shortened|dropped|hidden|evicted|discarded|stripped|"
    r"(?<![a-z])(?:cut|left out|(?:not|n't) (?:shown|included|kept|fit)|forgotten|skipped|expired|"
    r"no longer (?:available|shown)|snip)(?![a-z])|"
    r"entfernt|gelöscht|gekürzt|ausgelassen|weggelassen|supprimé|omis(?:e|es)?(?![a-z])|tronqué|"
    r"eliminad|omiti|truncad|recortad|removid|rimoss|omess|troncat|verwijderd|weggelaten|ingekort|"
    r"borttag|utelämna|fjernet|poistettu|usunięt|pominięt|skrócon|odstraněn|kaldırıl|silin|"
    r"kısalt|dihapus|удален|опущен|обрезан|сокращ|省略|截断|截斷|删除|刪除|清除|清空|中略|下略|削除|移除|"
    r"생략|삭제|잘림|حذف|محذوف)"
)
SUMMED_UP = re.compile(
    r"(?i)summ(?:ar|ed up)|compact|condens|recap|abridg|digest|folded|zusammenfass|"
    r"résum|resum|riassun|samenvat|podsumow|rezumat|összefoglal|tóm tắt|περίληψη|резюме|обобщ|"
    r"ملخص|خلاصه|สรุป|सारांश|摘要|总结|總結|要約|요약"
)
OF_HISTORY = re.compile(
    r"(?i)(?:message|turn|history|conversation|context|dialog|chat|entries|thread|beginning|"
    r"nachricht|verlauf|mensaje|mensage|mensagen|messagg|bericht|histori|cronologia|conversa|"
    r"сообщени|истори|消息|对话|對話|历史|歷史|上下文|记录|記錄|メッセージ|会話|履歴|메시지|대화|기록|رسائل|"
    r"المحادثة|mesaj|wiadomo|meddeland|melding|beskeder|viestit|pesan)"
)
LEFT_OUT = re.compile(
    r"(?i)\d+ (?:more |earlier |older |previous )?"
    r"(?:messages?|turns?|steps?|entries|actions?|lines?|calls?|items?)\b"
)
