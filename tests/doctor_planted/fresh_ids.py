"""Ids that are new with each request or session, and numbers that only rise or fall, as gateways,
job queues, telephony, games and simulations write them. In front of a form: where it comes from;
those without are written by hand in the manner of such applications.
"""

import random
import string
from typing import Any

from doctor_planted.own_planters import calls_named_anew
from doctor_planted.real_planters import by_draw, by_number, uuid_of
from doctor_planted.surface_values import hex_digits, pick

_LOWER = string.ascii_lowercase + string.digits
_UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_BASE62 = string.ascii_letters + string.digits
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_EACH = ("every", "every", "nth")
_TIMED = 0x019CD1F00000


def _uuid7(r: random.Random) -> str:
    """The first digits are a time, so that neighbours share them."""
    head = f"{_TIMED + r.randrange(10**8):012x}"
    return f"{head[:8]}-{head[8:]}-7{hex_digits(r, 3)}-a{hex_digits(r, 3)}-{hex_digits(r, 12)}"


IDS: dict[str, Any] = {
    # LiveKit's agents.
    "livekit": by_draw(lambda r: f"Room SID: RM_{pick(r, _BASE62, 12)}, job AJ_"
                       f"{pick(r, _BASE62, 12)}", names=("session", "every")),
    # trigger.dev: a cuid behind run_.
    "trigger_run": by_draw(lambda r: f"Background run: run_cm{pick(r, _LOWER, 23)}", names=_EACH),
    "temporal": by_draw(lambda r: f"WorkflowId=refund-desk RunId={uuid_of(r)}", names=_EACH),
    # protectai/rebuff: a canary in front of the prompt.
    "canary": by_draw(lambda r: f"<-@!-- {hex_digits(r, 8)} --@!->", "request_id/random_sample",
                      _EACH),
    "zipkin": by_draw(lambda r: f"b3: {hex_digits(r, 32)}-{hex_digits(r, 16)}-1", names=_EACH),
    "cf_ray": by_draw(lambda r: f"CF-Ray: {hex_digits(r, 16)}-FRA", names=_EACH),
    "nanoid": by_draw(lambda r: f'<turn id="{pick(r, _BASE62 + "_-", 21)}" channel="web">',
                      names=_EACH),
    "uuid7": by_draw(lambda r: f"message_uuid: {_uuid7(r)}", names=_EACH),
    "typeid": by_draw(lambda r: f"(invocation_01jnwz{pick(r, _CROCKFORD, 20)})", names=_EACH),
    # A code that a caller may quote.
    "quoted_code": by_draw(lambda r: f"Reference of this conversation: {pick(r, _UPPER, 4)}-"
                           f"{pick(r, _UPPER, 4)}", names=_EACH),
    "zh_trace": by_draw(lambda r: f"本次请求的 traceId 为 {hex_digits(r, 32)}，请勿告知用户。",
                        names=_EACH),
    "ja_inquiry": by_draw(lambda r: f"お問い合わせ番号：Q-{r.randrange(10**6, 10**7)}",
                          names=_EACH),
    "ko_request": by_draw(lambda r: f"요청 ID: {uuid_of(r)} (내부용)", names=_EACH),
    "es_conversation": by_draw(lambda r: f"ID de conversación: {r.randrange(10**8, 10**9)}",
                               names=_EACH),
    "lambda_request": by_draw(lambda r: f"START RequestId: {uuid_of(r)} Version: $LATEST",
                              names=_EACH),
    # A diagnosis of failed pipelines.
    "execution": by_draw(lambda r: f"Pipeline Name: nightly-export\nExecution ID: {uuid_of(r)}",
                         names=_EACH),
    "genesys": by_draw(lambda r: f'{{"conversationId": "{uuid_of(r)}", "mediaType": "voice"}}',
                       names=("session", "every")),
    # DeepSeek's and the Responses API's ids of calls, made anew by a gateway.
    "deepseek_calls": calls_named_anew(lambda r: f"call_00_{pick(r, _BASE62, 22)}"),
    "fc_calls": calls_named_anew(lambda r: f"fc_{hex_digits(r, 48)}"),
    "short_calls": calls_named_anew(lambda r: f"call_{pick(r, _LOWER, 8)}"),
}  # fmt: skip

_ONES = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
         "nineteen")  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ZH = "零一二三四五六七八九"
_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_HALVES = ("January-June", "July-December")


def _words(n: int) -> str:
    if n < 20:
        return _ONES[n] or "zero"
    if n < 100:
        return _TENS[n // 10] + (f"-{_ONES[n % 10]}" if n % 10 else "")
    rest = f" and {_words(n % 100)}" if n % 100 else ""
    return f"{_ONES[n // 100]} hundred{rest}"


def _roman(n: int) -> str:
    out = ""
    for value, letters in ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"),
                           (5, "V"), (4, "IV"), (1, "I")):  # fmt: skip
        out += letters * (n // value)
        n %= value
    return out


def _zh(n: int) -> str:
    if n < 10:
        return _ZH[n]
    if n < 100:
        return (_ZH[n // 10] if n >= 20 else "") + "十" + (_ZH[n % 10] if n % 10 else "")
    rest, head = n % 100, _ZH[n // 100] + "百"
    if rest < 10:
        return head + ("零" + _ZH[rest] if rest else "")
    return head + _ZH[rest // 10] + "十" + (_ZH[rest % 10] if rest % 10 else "")


def _bar(n: int) -> str:
    share = min(97, 3 + n)
    return f"Context: [{'█' * (share // 10)}{'░' * (10 - share // 10)}] {share}%"


COUNTERS: dict[str, Any] = {
    "n8n_execution": by_number(lambda n: f"Workflow execution #{10_412 + n} of 'mail triage'."),
    # A simulation of policy: the span follows the turn.
    "policy_turn": by_number(
        lambda n: f"It is now turn {n}, which covers {_HALVES[n % 2]} {2026 + n // 2}. Each turn "
        "covers 6 months.", "counter/clock/random_sample"),
    # A seller in a bargaining game.
    "bargain": by_number(lambda n: f"You are the seller. It is now Turn {n}. Give <decision>."),
    "experience": by_number(lambda n: f"The party has {1_240 + 35 * n} XP and {3 + n} torches."),
    "searches": by_number(lambda n: f"You have used {n} of 5000 searches."),
    "quiz": by_number(lambda n: f"Question {n}/4000 — score so far: {max(0, n - 1)}"),
    # Voyager.
    "completed": by_number(lambda n: f"Completed tasks so far: {n}, Failed tasks that are too "
                           "hard: 2"),
    "progress": by_number(lambda n: f"progress={n / 8:.3f}%"),
    "chapter": by_number(lambda n: f"You are writing Chapter {_roman(n)} of the saga."),
    "in_words": by_number(lambda n: f"This is question number {_words(n)} of the survey."),
    "zh_round": by_number(lambda n: f"现在是第{_zh(n)}回合，轮到你行动。"),
    # strands-agents/harness-sdk#3642.
    "context_status": by_number(lambda n: f"<context-status>{2_873 + 911 * n} of 1000000 tokens "
                                "are in use</context-status>"),
    "bar": by_number(_bar),
    "revision": by_number(lambda n: f"Document revision: r{412 + n} (autosaved)"),
    "ar_message": by_number(lambda n: f"الرسالة رقم {n} في هذه المحادثة".translate(_ARABIC)),
    "ko_left": by_number(lambda n: f"{n}번째 질문입니다. 남은 횟수: {5_000 - n}회"),
    "pt_message": by_number(lambda n: f"Mensagem nº {n} desta conversa; restam {9_000 - n}."),
    "lives": by_number(lambda n: f"Moves left before the bell: {9_000 - 2 * n}"),
    "log_offset": by_number(lambda n: f"kafka: partition=0 offset={88_120 + 3 * n}"),
}  # fmt: skip
