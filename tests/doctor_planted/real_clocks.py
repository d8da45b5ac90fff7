"""Times and dates as public applications write them into prompts, put in own words where their
lines are long. Behind each: the application, or what it is and where its users live.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from doctor_planted.real_planters import by_time

_ES = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")
_MESES = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
          "octubre", "noviembre", "diciembre")  # fmt: skip
_PT = ("segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado",
       "domingo")  # fmt: skip
_DE = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_ZH = ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日")
_KO = "월화수목금토일"
_MOIS = ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
         "octobre", "novembre", "décembre")  # fmt: skip
_JOURS = ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche")


def _zone(hours: float) -> Callable[[datetime], datetime]:
    return lambda t: t.astimezone(timezone(timedelta(hours=hours)))


_tokyo, _sao, _madrid, _bogota = _zone(9), _zone(-3), _zone(1), _zone(-5)


def _ms(t: datetime) -> str:
    return f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond // 1000:03d}Z"


def _us(t: datetime) -> str:
    """toLocaleString in en-US."""
    return f"{t.month}/{t.day}/{t.year}, {t.hour % 12 or 12}:{t:%M:%S} {t:%p}"


def _long(t: datetime) -> str:
    return f"{t:%A, %B} {t.day}, {t.year}"


def _part(t: datetime) -> str:
    return "morning" if 5 <= t.hour < 12 else "day" if t.hour < 17 else "evening"


def _th(n: int) -> str:
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{tail}"


def _memory(t: datetime) -> str:
    second = f"{t - timedelta(seconds=1):%Y-%m-%d %I:%M:%S %p} UTC+0000"
    return (f"<memory_metadata>\n- The current time is: {t:%Y-%m-%d %I:%M:%S %p} UTC+0000\n"
            f"- Memory blocks were last modified: {second}\n</memory_metadata>")  # fmt: skip


def _in_zone(t: datetime) -> str:
    local = _tokyo(t)
    return (f"CURRENT DATE & TIME:\n- User's timezone: Asia/Tokyo\n- Current date: {_long(local)}\n"
            f"- Current time: {_us(local)}\n- Server: {_ms(t)}\n")  # fmt: skip


_PROMPTS: tuple[Callable[[datetime], str], ...] = (
    lambda t: f"# Current Time\nCurrent time in ISO 8601 UTC format: {_ms(t)}\n"
    "User time zone: Europe/Berlin, UTC+1:00",  # Roo Code
    lambda t: f"<session_context>\nToday's date is {_long(t)} (in the user's locale).\n"
    "My operating system is: linux\n</session_context>",  # Gemini CLI
    lambda t: "<environment_context>\n  <cwd>/src/site</cwd>\n  <shell>zsh</shell>\n"
    f"  <current_date>{t:%Y-%m-%d}</current_date>\n</environment_context>",  # Codex
    lambda t: f"Remember:\n- Today's date is {t:%Y-%m-%d}.\n- Return no example.",  # mem0
    lambda t: f"<memory_metadata>\n- System prompt last recompiled: {t:%Y-%m-%d %I:%M:%S %p} "
    "UTC+0000\n- 42 earlier messages are in recall memory\n</memory_metadata>",  # Letta
    _memory,  # Letta, earlier
    lambda t: f"<RUNTIME_INFORMATION>\nToday's date is {t:%Y-%m-%d} (UTC).\n</RUNTIME_INFORMATION>",
    lambda t: f"Current time is {t:%H:%M:%S}. Today's date is {t:%Y-%m-%d}.\n",  # Home Assistant
    lambda t: f"It is {t:%Y-%m-%d %I:%M:%S %p}, and the user is at home.",  # Open WebUI
    lambda t: f"You are an assistant.\n\nSystem time: {t.isoformat()}\n",  # LangGraph's template
    lambda t: f"Cutoff Knowledge Date: December 2023\nCurrent Date: {t:%Y-%m-%d %H:%M:%S.%f}",
    lambda t: f"Current Date and Time: {t:%Y-%m-%d %H:%M:%S} ({t:%A})",  # chatagent
    lambda t: f"请尽可能提供最新的信息，现在是2025-2026学年春季学期，今天的日期是{t:%Y-%m-%d}。",
    lambda t: f"从我的信息中提取会议。当前时间是 {t:%Y-%m-%d}（{t:%A}）{t:%H:%M}，",
    lambda t: f"[SYSTEM_TIME] 现在的系统时间是：{t:%Y-%m-%d %H:%M:%S}。[/SYSTEM_TIME]",
    lambda t: f"The current date/time is {t:%A, %Y-%m-%dT%H:%M:%S%z}\n",
    lambda t: f"For questions of the day: Current date: {t:%Y-%m-%d}. Current time: {t:%H:%M}. "
    f"It's {_part(t)}.",  # a bot with the part of the day
    lambda t: f"You write research reports. Today is {_ms(t)}. Follow these rules:",
    _in_zone,  # a chat app with the user's zone
    lambda t: f"  Today's Date: {t:%a, %b %d, %Y}",  # a chatbot on the AI SDK
    lambda t: f"Today is {t:%a %b %d %Y}",  # Date.toDateString
    lambda t: f"The current date and time is {t:%B} {t.day}, {t.year} at {t:%I:%M %p}.",
    lambda t: f"[Time Awareness]\nISO 8601: {_ms(t)}\nLocal Time: {_tokyo(t):%Y/%m/%d}"
    f"{_ZH[_tokyo(t).weekday()]} {_tokyo(t):%H:%M:%S} (JST, UTC+9)\n",  # nexmap
    lambda t: f"## 当前时间\n当前时间是：{t:%Y-%m-%d %H:%M:%S}",  # a blog's assistant in Java
    lambda t: f"Dans ce format, la date d'aujourd'hui est {t:%Y-%m-%dT%H:%M:%S.%f}Z\n:",
    lambda t: f"Fecha y hora actual: {t:%d/%m/%Y} a las {t:%H:%M} (hora de Chile).",
    lambda t: f"FECHA Y HORA ACTUAL: {_ES[_bogota(t).weekday()]} {_bogota(t).day} de "
    f"{_MESES[_bogota(t).month - 1]} de {t.year}, {_bogota(t):%I:%M %p} (hora Colombia)",
    lambda t: f"Fecha y hora actual: {_madrid(t):%A %d de %B de %Y, %H:%M} (Europa/Madrid)",
    lambda t: f"現在の日時: {_tokyo(t):%Y年%m月%d日 %H:%M} ({_tokyo(t):%A})",
    lambda t: f'"現在の日時: {_tokyo(t):%Y年%m月%d日 %H時%M分}"',  # a clock ahead of all rules
    lambda t: f"Aktuelles Datum: {_DE[t.weekday()]}, {t:%d.%m.%Y} | Uhrzeit: {t:%H:%M} "
    "(Europe/Berlin)",
    lambda t: f"Aktuelles Datum: {t:%d. %B %Y} ({t:%A}). 'Heute' = {t:%Y-%m-%d}, 'Morgen' = "
    f"{t + timedelta(days=1):%Y-%m-%d}.",  # a calendar's tool
    lambda t: f"Ты планировщик задач.\nТекущая дата и время: {t:%Y-%m-%d %H:%M} UTC. Часовой пояс "
    "пользователя: GMT+3.",
    lambda t: f"🕒 Текущая дата и время: {t:%Y-%m-%d %H:%M:%S}",
    lambda t: f"- Data e hora atual: {_sao(t):%d/%m/%Y %H:%M} (America/Sao_Paulo).",
    lambda t: f"## Data e hora atual: {_sao(t):%d/%m/%Y %H:%M} ({_PT[_sao(t).weekday()]})",
    lambda t: f"### INFORMACOES \n-  Data e hora atual: "
    f"{_sao(t).isoformat(timespec='milliseconds')} \n- Dia da semana: {_PT[_sao(t).weekday()]}",
    lambda t: f"Current local date and time: {t.isoformat()}. Time zone: Europe/Kyiv. Be warm.",
    lambda t: f"You are a model.\nKnowledge cutoff: 2021-09\nCurrent date: {t:%Y-%m-%d}\n",
    lambda t: f"IMPORTANT: The current date and time is {t:%A, %B %d, %Y at %I:%M %p} "
    "(Europe/Warsaw).\nUse it where somebody asks for the time.",  # a LiveKit agent
    lambda t: "<env>\nWorking directory: /srv/shop\nIs directory a git repo: Yes\nPlatform: linux\n"
    f"OS Version: Linux 6.8.0\nToday's date: {t:%Y-%m-%d}\nModel: claude-sonnet-4-5\n</env>",
    lambda t: f"- Mode: 'chat'.\n- Approvals: 'readonly'. \n- The User's current date is "
    f"{t:%A, %d %B %Y %H:%M:%S}.",  # mogzi
    lambda t: f"SYSTEM INFO: The current date and time is {t:%Y-%m-%d %H:%M:%S.%f}. Greet first.",
    lambda t: f"Aktuelles Datum: {t:%Y-%m-%d %H:%M} UTC",
)  # fmt: skip
_MORE: tuple[Callable[[datetime], str], ...] = (
    lambda t: f"Your name is KoteBot. Today is {t:%Y-%m-%d %H:%M}\nReply in Russian.",
    lambda t: f"Wir duzen uns hier.\n\nHeute ist der {t:%d.%m.%Y} und es ist {t:%H:%M}.",
    lambda t: f"오늘의 날짜는 {t:%B %d} 입니다. 오늘이 생일인 사람을 나열해 주세요.",
    lambda t: f"Informations :  \n\n    Aujourd'hui : {t:%d/%m/%Y}\n    Tu assistes les agents.",
    lambda t: f"Date et heure: {_JOURS[t.weekday()]} {t.day} {_MOIS[t.month - 1]} {t.year} à "
    f"{t:%H:%M}",  # an agent of Home Assistant
    lambda t: f"Date of day (DD/MM/YYYY): {t:%d/%m/%Y}\nHour of the day : {t:%H:%M}.",
    lambda t: f"Aujourd'hui nous sommes le {_JOURS[t.weekday()]} {t:%d/%m/%Y} et il est {t:%Hh%M}. "
    "Sers-toi de ces informations.",
    lambda t: f"- Channel Count: 31\n    - Date: {t:%A, %B} {_th(t.day)}, {t.year}\n    - Time: "
    f"{t.hour % 12 or 12}:{t:%M:%S} {'am' if t.hour < 12 else 'pm'}",  # BoltBot
    lambda t: f"The current date is {t:%d/%m/%Y}, and the current time is {t:%H:%M}.",
    lambda t: f"현재 시각: {t:%Y-%m-%d %H:%M} ({_KO[t.weekday()]}요일)\n\n위 시각을 기준으로.",
    lambda t: f"---\n현재 시각: {t.isoformat(timespec='seconds')} (이 값을 그대로 쓴다)",
    lambda t: f"Date of this conversation: {t:%A %Y-%m-%d %H:%M} UTC",
    lambda t: f"The current time is {t:%Y-%m-%d %H:%M:%S.%f}",
    lambda t: f'<context now="{t:%a, %d %b %Y %H:%M:%S} GMT" tz="UTC"/>',
    lambda t: json.dumps({"today": f"{t:%Y-%m-%d}", "now": f"{t:%H:%M:%S}", "weekday": f"{t:%A}"}),
)  # fmt: skip
CLOCKS: tuple[Any, ...] = (
    *map(by_time, _PROMPTS),
    by_time(lambda t: f"(last seen: {t.minute} minutes and {t.second} seconds before {t:%H:%M})",
            "clock/counter"),  # bots of Discord
    by_time(lambda t: f"<step_info>Today:{t:%Y-%m-%d}</step_info>"),  # browser-use
    by_time(lambda t: f"# CONTEXT\nA call from abroad.\n- Current date: {t:%d %B %Y}"),  # dynamiq
    *map(by_time, _MORE),
)  # fmt: skip
