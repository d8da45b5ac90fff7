"""Words that tell what a field is for, by which otherwise equal shapes are told apart."""

import re

_CHANNELS = (
    "whatsapp|telegram|wechat|viber|imessage|sms|skype|discord|instagram|messenger|kakaotalk|zalo|"
    "(?:tele)?phones?|telefone?s?|telefono|telefoon|telefon|téléphone|teléfono|telefón|tel|msisdn|"
    "(?:rufn|telefonn|mobiln|handyn)ummer|handy|mobile(?= ?(?:no|nr|num|:|=))|móvil|celular|"
    "cellulare|telefoonnummer|telefonszám|puhelin|telepon|điện thoại|телефона?|тел|τηλέφωνο|fax|"
    "cell ?phone|wa_?id|calling from|correo|courriel|почта|"
    "dirección|adresse|anschrift|indirizzo|endereço|adres|alamat|địa chỉ|адрес|post ?code|zip|plz|"
    "postleitzahl|code postal|código postal|"
    "(?:licen[cs]e|number) plate|kennzeichen|matrícula|immatriculation|targa|kenteken|iban|"
    "passport|reisepass|pasaporte|passaporte|passeport|ssn|cpf|dni|"
    "(?:kunden|vertrags|versicherungs|mitglieds|konto)\\w{0,12}|contract|membership|"
    "policy(?= ?(?:no|num|[:#=]))|licen[cs]e|points|balance|"
    "(?:past|previous|earlier) orders|contrato|póliza|socio|abonado|contrat|police d'assurance|"
    "adhérent|contratto|polizza|договора?|客户号|会员号?|合同号|会員番号|회원번호|"
    "nombre(?= ?[:=])|nome|nom|naam|imię|jméno|név|namn|navn|"
    "电话|電話|手机|手機|携帯|微信|전화|휴대폰|هاتف|جوال|טלפון|फ़ोन|मोबाइल|โทรศัพท์|邮箱|メール|"
    "이메일|地址|住所|주소|العنوان|姓名|名前|氏名|이름|车牌"
)
"""By which a person is reached or known."""
USER = re.compile(
    r"(?i)(?<![a-z])(?:users?|user_?names?|customers?|clients?|accounts?|tenants?|e-?mail|names?|org(?:anisation|"
    r"anization)?s?|compan(?:y|ies)|workspace|locale|languages?|lang|time\s?zones?|tz|plan|tier|"
    r"roles?|"
    r"location|city|countr(?:y|ies)|region|phone|address|subscription|preferr?ed|preferences?|"
    r"members?|policy ?holders?|(?:account|card|lease|ticket|loan)[ -]?holders?|subscribers?|"
    r"applicants?|claimants?|insured|beneficiar(?:y|ies)|borrowers?|passengers?|residents?|"
    r"senders?|recipients?|attendees?|card(?= ?(?:[*•x]{2,}|ending|no\b|number|:))|"
    r"patient|student|pupil|employee|department|team|profile|persona|age|birthday|title|greet|dear|hello|"
    r"(?:speaking|talking|chatting) (?:with|to)|assisting|hi|i am|i'm|my name|"
    r"called|human|person|caller|guest|visitor|learner|player|owner|(?:signed|logged) in(?: as)?|"
    r"(?:you|du|sie|tu|vous|ti|je|voce|você) (?:are )?(?:help|assist|serv|support|hilfst|helfen|"
    r"unterstützt|aide|assiste|ajuda|aiut|helpt)\w{0,4}|(?:helping|serving|supporting)|ayudas a|"
    r"ayuda a|ajudas|aiuti|pomagasz|on behalf of|"
    r"working directory|cwd|home|hostname|"
    r"platform|branch|cust|acct|uid|usr|geo|coordinates?|lat|lon(?:gitude)?|latitude|principal|"
    r"klant|gebruiker|usuário|utente|pengguna|kullanıcı|müşteri|użytkownik|"
    r"khách hàng|người dùng|nói chuyện với|sở thích|tên|pelanggan|nama|asiakas|nimi|ügyfél|"
    r"felhasználó|"
    r"zákazník|uživatel|utilizator|korisnik|kullanıcı adı|ім'я|користувач|клієнт|имя|"
    r"klient|användare|kund|bruger|käyttäjä|пользователь|клиент|用户|客户|ユーザー|顧客|사용자|고객|"
    r"המשתמש|הלקוח|χρήστης|πελάτης|उपयोगकर्ता|ग्राहक|नाम|ผู้ใช้|ลูกค้า|کاربر|مشتری|"
    r"المستخدم|العميل|interests|hobbies|skills|goals|allerg(?:y|ies)|diet|benutzer|kunde|nutzer|utilisateur|cliente|usuario|memory|memories|likes|currency|"
    rf"{_CHANNELS})(?![a-z])"
)
SAMPLE = re.compile(
    r"(?i)(?<![a-z])(?:examples?|samples?|random(?:ly)?|few-?shots?|shots?|tips?|facts?|quotes?|seeds?|"
    r"salt|demos?|demonstrations?|hints?|inspirations?|variants?|variation|joke|trivia|"
    r"beispiele?|ejemplos?|exemples?|esemp(?:io|i)|exemplos?|voorbeeld(?:en)?|przykład\w{0,4}|"
    r"örnek\w{0,4}|пример\w{0,2}|示例|例子|例|예시|"
    r"temperature|noise|jitter|dice|roll|lucky|entropy|cache[- ]?bust(?:er)?|padding|icebreaker)"
    r"(?![a-z])"
)
MANNER = re.compile(
    r"(?i)(?<![a-z])(?:styles?|tone|mood|voice|vibe|manner|stil|tonfall|stimmung|estilo|tono|tom|"
    r"humeur|ton)(?![a-z])|стиль|тон|настроение|风格|语气|情绪|口調|文体|スタイル|말투|스타일"
)
"""How to answer: drawn, or what somebody likes."""
REQUEST = re.compile(
    r"(?i)(?<![a-z])(?:requests?|req|rid|idempotency|trace(?:parent)?|correlation|corr|span|ulid|uuid|"
    r"guid|ksuid|nonce|transaction|txn|invocation|execution|exec|completion|run|job|event|message|msg|"
    r"sessions?|sess|conversations?|conv|threads?|chat|channel|task|tickets?|call(?=[\s_-]?ids?)|order|agent|node|mesh|"
    r"interaction|dialogue|dialog|exchange|process|instance|sandbox|container|pod|workflow|reference|"
    r"ref|case|batch|attempt|anfrage|sitzung|gespräch|vorgang|auftrag|lauf|kennung|vorgangsnummer|"
    r"aktenzeichen|requête|séance|exécution|demande|solicitud|sesión|conversación|petición|"
    r"ejecución|solicitação|requisição|sessão|conversa|execução|richiesta|sessione|conversazione|"
    r"verzoek|sessie|gesprek|zapytani[ea]|sesja|rozmowa|istek|oturum|konuşma|запроса?|сесси[яи]|"
    r"диалога?|задач[аи]|обращени[ея]|заявк[аи]|chamado|protocolo|protocollo|expediente|incidencia|"
    r"dossier|zgłoszeni[ae])(?:[\s_-]?(?:ids?|no|nr|num(?:ber)?|nummer|key|ref|handle))?(?![a-z])"
    r"|请求|會話|会话|对话|對話|任务|任務|工单|工單|リクエスト|セッション|会話|ジョブ|問い?合わ?せ|お?問合せ|受付|整理番号|요청|세션|대화|작업|문의|접수"
)
"""Whose id says nothing of a user: one request, or what it is a part of."""
ASKED = re.compile(
    r"(?i)(?<![a-z])(?:requests?|req|trace|correlation|transaction|sessions?|sess|conversations?|"
    r"conv|threads?|chat|tasks?|tickets?|calls?|messages?|msg|jobs?|runs?|events?|sitzung|anfrage|"
    r"gespräch|nachricht|requête|séance|solicitud|sesión|conversación|mensaje|sessão|conversa|"
    r"mensagem|richiesta|sessione|conversazione|messaggio)(?:[\s_-]?(?:ids?|no|nr|num(?:ber)?|key))?"
    r"(?![a-z])|请求|会话|會話|对话|消息|任务|リクエスト|セッション|会話|요청|세션|대화|메시지"
)
"""Those of them that a person's channel or name may stand before: `WhatsApp session id`."""
AMOUNT = re.compile(
    r"(?i)(?<![a-z])(?:used|usage|remaining|remains|left|budget|spent|consumed|so far|quota|"
    r"verbraucht\w{0,2}|verbleibend\w{0,2}|übrig|restants?|restantes?|utilisés?|consommés?|"
    r"usad[oa]s?|utilizad[oa]s?|rimanent[ei]|usat[oi]|gebruikt|resterend|kalan|kullanılan|"
    r"осталось|использовано|pozostało|zużyto)(?![a-z])"
    r"|剩余|剩餘|已用|已使用|用量|残り|使用量|使用済み|남은|사용량|사용됨"
)
"""What is used up, or is left: it counts, however large it is."""
COUNTED = re.compile(
    r"(?i)(?:#|no\.|№|\bnr\b|\bn[°º]|\b(?:answer|reply|question|réponse|respuesta|risposta|antwort|"
    r"anfrage|frage|nachricht|mensaje|versuch|tentative|intento|schritt|étape|paso|runde)\b|(?<![a-z])(?:turns?|steps?|counts?|counter|iterations?|attempts?|"
    r"requests?|messages?|calls?|sequence|seq|number|num|rounds?|retr(?:y|ies)|index|used|remaining|"
    r"left|budget|spent|so far|total|queries|query|version|revision|rev|build|epoch|tick|nth|visit|"
    r"conversation|session|exchange|interaction|elapsed|uptime|loop|cycle|poll|"
    r"passo|adım|krok|stap|bước|langkah|turno|beurt|runda|ronde|шаг|ход|раунд)(?![a-z]))"
    r"|步骤|步驟|第|轮次|回合|ステップ|ターン|단계|턴|الخطوة"
)
TURN = re.compile(
    r"(?i)(?:user|human|customer|client|q|question|frage|pregunta|benutzer|usuario|utilisateur|用户|"
    r"ユーザー|사용자|пользователь|klant)\s*[:：]\s*$"
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
_PARTS_OF_A_DAY = (
    "morning|day(?:time)?|afternoon|evening|night|noon|midnight|dawn|dusk|"
    "morgen|vormittag|mittag|nachmittag|abend|nacht|tag|"
    "matin|midi|après-midi|soir|nuit|"
    "mañanas?|tardes?|noches?|días?|mattin[ao]|pomeriggio|sera|notte|giorno|"
    "manhã|noite|dia|утро|день|вечер|ночь|早上|上午|中午|下午|晚上|夜间|朝|昼|夕方|夜|아침|오전|오후|저녁|밤"
)
WORD_CLOCK = re.compile(
    r"(?i)(?:(?:good|guten?|buen[oa]s|bon(?:ne)?|bo[am]|buon[ao]?) )?(?:(?:early|late|mid)[- ])?"
    rf"(?:{_PARTS_OF_A_DAY}|"
    r"am|pm|a\.m\.|p\.m\.|today|yesterday|"
    r"tomorrow|weekday|weekend|spring|summer|autumn|fall|winter|just now|"
    r"(?:\d+|an?|one|two|three|four|five|ten) (?:second|minute|hour|day|week)s?(?: ago)?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|q[1-4]|w\d{1,2})"
)
PART_OF_A_DAY = re.compile(rf"(?i){_PARTS_OF_A_DAY}")
GREETING = re.compile(
    r"(?i)(?:(?<![^\W\d_])(?:good|it(?: is|['’]s)|this|time of day|guten?|es ist|buen[oa]s?|"
    r"bon(?:ne)?|il est|c['’]est|bo[am]|buon[ao]?|god|goed|goede|dzie[nń]|dobr\w{1,4}|"
    r"добр\w{1,4}|сейчас)"
    r"|现在是|现在|今は|今|지금은|지금)\s?[:=：]?\s?$"
)
"""What stands before the part of a day that it is now."""
CLOCK_LABEL = re.compile(
    r"(?i)(?<![a-zà-ÿ])(?:(?:local|wall|server|system|sys|unix|user|client|current|start|end|update|"
    r"build|boot|session|m|c)?(?:time|date)(?:stamp|time)?|today|now|clock|ts|uptime|monotonic|"
    r"julian|jd|as of|generated at|elapsed|epoch|weekday|day of|current (?:hour|day|month|year)|"
    r"(?:orts|server|system|sommer|winter|welt|lokal|uhr)?zeit|datum|heute|jetzt|heure|aujourd|"
    r"fecha|hora|hoy|hoje|oggi|ora|bugün|tarih|saat|dziś|godz|godzina|dato|vandaag|klo|kello|kl|"
    r"klokk[ae]n?|klockan|pukul|giờ|óra|dnes|nyt|nu|maintenant|ahora|agora|adesso|teraz)"
    r"(?![a-zà-ÿ])"
    r"|(?-i:(?<=[a-z])(?:Time|Date|Now|Timestamp|Clock|Uptime)(?![a-z]))"
    r"|ώρα|σήμερα|שעה|היום|ساعت|امروز|годин|(?<![а-я])часа?(?![а-я])|сегодня|сейчас|дата|время|"
    r"التاريخ|الوقت|الساعة|اليوم|الآن|बजे|समय|तारीख|दिनांक|بجے|วันที่|เวลา|"
    r"今天|今日|今は|只今|ただ今|지금|现时|此刻|目前|现在|現在|日期|时间|時間|時刻|日時|오늘|현재|날짜|시간|"
    r"(?<![a-z])(?<!per )(?:hour|minute|month|year)\s?[:=]\s?$"
)
"""Words of ASCII by themselves: `sentiment` and `known` tell no time."""
LASTING = re.compile(r"(?i)(?<![a-z])(?:elapsed|uptime|epoch|monotonic|julian|jd|ago)(?![a-z])")
"""What tells a length of time, or a count since some day: of any size."""
