"""Ids, counters, lines of attribution, fields of a user, samples: as prompts write them."""

import random
import string
import uuid
from collections.abc import Callable
from itertools import count

Make = Callable[[random.Random], str]
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BASE62 = string.ascii_letters + string.digits


def pick(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def hex_digits(rng: random.Random, length: int) -> str:
    return pick(rng, "0123456789abcdef", length)


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


REQUEST_IDS: tuple[Make, ...] = (
    lambda r: f"Request ID: {_uuid(r)}",
    lambda r: f"request_id={hex_digits(r, 32)}",
    lambda r: f"[trace {hex_digits(r, 32)}-{hex_digits(r, 16)}]",
    lambda r: f"X-Request-Id: req_{pick(r, _BASE62, 24)}",
    lambda r: f"Correlation id {_uuid(r).upper()}",
    lambda r: f"conversation: conv_01{pick(r, _CROCKFORD, 24)}",
    lambda r: f"<request id='{_uuid(r)}'/>",
    lambda r: f'{{"run_id": "{_uuid(r)}"}}',
    lambda r: f"req-id: {hex_digits(r, 16)}",
    lambda r: f"traceparent: 00-{hex_digits(r, 32)}-{hex_digits(r, 16)}-01",
    lambda r: f"ulid 01J{pick(r, _CROCKFORD, 23)}",
    lambda r: f"call-id call_{pick(r, _BASE62, 22)} (do not repeat it to the user)",
    lambda r: f"urn:uuid:{_uuid(r)}",
    lambda r: f"Message-Id: <{hex_digits(r, 20)}@mail.example.org>",
)

COUNTERS: tuple[Callable[[int], str], ...] = (
    lambda n: f"Request number {n}.",
    lambda n: f"Turn {n} of 50",
    lambda n: f"step: {n}",
    lambda n: f"This is message #{n} today.",
    lambda n: f"<turn>{n}</turn>",
    lambda n: f'{{"attempt": {n}, "max_attempts": 999}}',
    lambda n: f"Iteration {n:04d}",
    lambda n: f"Tokens used so far: {1_000 + 371 * n:,}",
    lambda n: f"Remaining budget: {200_000 - 913 * n} tokens",
    lambda n: f"Anfrage Nr. {n}",
    lambda n: f"You have answered {n} questions in this deployment.",
    lambda n: f"seq={n};",
)


def _version(rng: random.Random) -> str:
    return f"2.{rng.randrange(1, 3)}.{rng.randrange(20, 180)}.{hex_digits(rng, 3)}"


ATTRIBUTIONS: tuple[Make, ...] = (
    lambda r: (
        f"x-anthropic-billing-header: cc_version=2.1.117.{hex_digits(r, 3)}; cc_entrypoint=cli; "
        f"cch={hex_digits(r, 5)};"
    ),
    lambda r: (
        f"x-anthropic-billing-header: cc_version={_version(r)}; cc_entrypoint=sdk-cli; "
        f"cch={hex_digits(r, 5)};"
    ),
    lambda r: (
        "x-anthropic-billing-header: cc_version=2.1.62; cc_entrypoint=vscode; "
        f"cch={hex_digits(r, 5)};"
    ),
)
"""The line that waybarrios/vllm-mlx#277, anthropics/claude-code#68900 and others quote."""

FIRST = [
    "Maria",
    "Tomás",
    "Hanako",
    "Zoë",
    "Björn",
    "Amélie",
    "Wei",
    "Priya",
    "Oluwaseun",
    "Dmitri",
    "Sara",
    "Noah",
    "Ingrid",
    "Rafael",
    "Yusuf",
    "Chloe",
    "Anders",
    "Leila",
    "Mateo",
    "Nina",
]
LAST = [
    "González",
    "Okafor",
    "Ito",
    "Müller",
    "Sørensen",
    "Dubois",
    "Zhang",
    "Natarajan",
    "Adeyemi",
    "Petrov",
    "Kovács",
    "Brown",
    "Lindqvist",
    "Costa",
    "Demir",
    "Martin",
    "Berg",
    "Haddad",
    "Ruiz",
    "Novak",
]
CITIES = ["Osaka", "Lyon", "Leipzig", "Recife", "Pune", "Aarhus", "Izmir", "Lagos", "Brno", "Malmö"]
PLANS = ["free", "starter", "pro", "business", "enterprise"]
LOCALES = ["de-DE", "fr-FR", "ja-JP", "pt-BR", "en-GB", "hi-IN", "da-DK", "tr-TR", "cs-CZ", "sv-SE"]


class User:
    """Somebody whose name goes into a prompt; no two of one seed share it."""

    def __init__(self, rng: random.Random, taken: set[str]) -> None:
        for _ in count():
            self.first, self.last = rng.choice(FIRST), rng.choice(LAST)
            if f"{self.first} {self.last}" not in taken:
                break
        taken.add(f"{self.first} {self.last}")
        self.city, self.plan = rng.choice(CITIES), rng.choice(PLANS)
        self.locale = rng.choice(LOCALES)
        ascii_name = f"{self.first}.{self.last}".encode("ascii", "ignore").decode().lower()
        self.email = f"{ascii_name}{rng.randrange(10, 99)}@example.org"


USER_FIELDS: tuple[Callable[[User], str], ...] = (
    lambda u: f"User: {u.first} {u.last} <{u.email}>",
    lambda u: f"Customer name: {u.first} {u.last}\nCustomer email: {u.email}",
    lambda u: f"You are assisting {u.first} {u.last} from {u.city}.",
    lambda u: f"<user_profile>\nname: {u.first} {u.last}\nplan: {u.plan}\n</user_profile>",
    lambda u: f'{{"user": {{"name": "{u.first} {u.last}", "locale": "{u.locale}"}}}}',
    lambda u: f"Account holder: {u.last}, {u.first} (tier: {u.plan})",
    lambda u: f"The signed-in user is {u.email}.",
    lambda u: f"Username: {u.first.lower()}_{u.last.lower()}; locale: {u.locale}",
    lambda u: f"Name des Nutzers: {u.first} {u.last}, Ort: {u.city}",
    lambda u: f"Hi! I am {u.first} {u.last}'s personal assistant.",
)

TIPS = (
    "Answer a thank-you with one short line.",
    "Ask for the order number before anything else.",
    "If a figure is missing, say which one.",
    "Quote the paragraph that your answer rests on.",
    "Offer the cheaper option first.",
    "Never promise a delivery date.",
    "Give distances in kilometres.",
    "When in doubt, hand over to a colleague.",
    "Repeat the amount back to the customer.",
    "Prefer a table where three values are compared.",
    "Name the person who is responsible.",
    "Say what happens next and when.",
)

SHOTS = (
    ("Where is my parcel?", "It left the depot; may I have the tracking number?"),
    ("Can I pay by invoice?", "Yes, from the second order on."),
    ("The lamp flickers.", "Please switch it off and tell me the model on the base."),
    ("I want to cancel.", "I can do that. Shall I cancel all items?"),
    ("Do you ship to Norway?", "We do, within six working days."),
    ("My voucher fails.", "It needs a basket above forty euros."),
    ("Who is my contact?", "Your contact is the service desk in Graz."),
    ("Is it waterproof?", "It withstands rain, not diving."),
    ("How do I return it?", "Print the label and drop it at any post office."),
    ("Change my address.", "Gladly: what is the new one?"),
    ("I was charged twice.", "One of the two is a reservation and will vanish."),
    ("What colours exist?", "Sand, slate and moss."),
)
