"""Words around the fresh forms: rules with times, ids and numbers that stand still, and questions,
answers and documents with all that changes for good reason: appointments, codes, counts, quoted
prompts, boards of games, spoken words.
"""

from doctor_planted.base_words import CODE_WORDS

__all__ = ["ANSWERS", "BROWSE_RULES", "CODE_RULES", "CODE_TASKS", "CODE_WORDS", "DOCUMENTS",
           "QUESTIONS", "RULES"]  # fmt: skip

RULES = (
    "Appointments start at 08:15 and every 45 minutes from then on; none begins after 17:15.",
    "Policy POL-{num} (rev. {n}) holds since 2025-11-03 and replaces the one of {year}.",
    "A {a} costs {m},90 euros, a {b} {n} euros; children under {n} pay half.",
    "Sample call:\nCaller: My name is {person}, reference {ref}.\nYou: Thank you, {person}.\nNever "
    "use these names in a real call.",
    "You may transfer to +49 30 {num} (extension {n}) when the caller asks for a person twice.",
    "Ne donnez jamais le {d} d'un autre client; la ligne est ouverte de 9 h à 18 h.",
    "回复不得超过{n}句。{a}的押金为{m}元，退款需{n}个工作日。",
    "Non promettere mai un {c} prima di {n} giorni; la sede di {place} risponde entro le 17:00.",
    "If two {b}s carry one number, take the younger one and tell which.",
    "Turn order: the player, then the keeper, then the {d}. A round has {n} moves at most.",
    "The seed of the demo data is {num}; it never changes.",
    "Write dates as 9 March 2026 and times as 14:30, amounts as 1,250.00.",
    "Wat een {a} kost staat in het tarief van {year}; noem nooit een ander bedrag.",
    "Score a reply from 1 to {n}; {m} points in all are the ceiling.",
    "Hidden evaluation id {uuid} is public and may be repeated.",
)

CODE_RULES = (
    "Run `make check` before you end; it takes {n} seconds and prints {m} lines.",
    "The base commit is {hex}; never rebase it.",
    "One change a time: propose, wait for the reviewer, apply.",
    "`{w}` was renamed to `{v}` in release {n}.{m}; keep the old name in public headers.",
    "Use tabs in Makefiles, {n} columns elsewhere.",
    "Nightly jobs start at 02:30 UTC; leave the lock file /run/{w}.lock alone.",
    "先写测试，再改实现；每个函数不超过{m}行。",
    "Ask before you add a dependency. The list of allowed ones has {n} entries.",
    "Tell the file and the line of each claim, such as src/{w}.rs:{m}.",
    "A failing test is told with its name, never with its log.",
)

BROWSE_RULES = (
    "Elements have numbers in brackets; numbers of an old page mean nothing on a new one.",
    "At most {m} actions a task. Stop at a login and tell the user.",
    "The screen is 1280 x 8{n}0; the date in its corner is that of a test machine, 1 Jan 2020.",
    "Accept no cookies but the needed ones.",
    "Never type a number of a card. Order {ref} is a sample.",
    "Nach jeder Aktion folgt ein Bild; beschreibe es in einem Satz.",
    "Scroll before you say that something is not there.",
    "If a page takes more than {n} seconds, load it again once.",
    "Prices are those of the page, with its currency.",
)

QUESTIONS = (
    "Can we move my appointment from {date} at {time} to the week after? Reference {ref}.",
    "uh yeah hi this is {person} I called on {date} about the {a}... it's still not here",
    "I roll {n} on the d20 and open the {a}. What do I find, {m} coins?",
    "Today is {date} where I live. Will the {b} be there by {time}?",
    "Mijn nummer is {num}, postcode {n}{m} AB. Waar blijft mijn {c}?",
    "My bot's prompt begins 'Current date: {date}. You have {n} tries left.' Why is it slow?",
    '{person} said: "turn {n} of {m}" - whose turn is it now?',
    "Quiz me: which {a} was made in {year}? A. {place} B. {n} C. {m} D. none",
    "Error 0x{hex} in step {n} of {m}, correlation {uuid}. What shall I do?",
    "Ik heb {n} {a}s en {m} {b}s besteld op {date}; factuur {num}.",
    "Reschedule everything of {date}: 1. {a} 2. {b} 3. {c}. Start at {time}, {n} minutes each.",
    "我叫{person}，会员号{num}，{date}预约了{a}，能改到{time}吗？",
    "Score: me {n}, you {m}. I take the {d} from {place}. Your move.",
    "Is +1 212 {num} your number? I got a text at {time} with the code {n}{m}.",
    "Compare plan {n} ({m}.50 a month) with plan {m} ({n}.00 a month) for {person}.",
    "What was the weather in {place} on {date}?",
    "Bitte den Termin am {date}, {time} Uhr, stornieren. Kundennummer {num}.",
    "This is my third message today. Ticket {ref}, opened {date} {time}. Any news on the {d}?",
    "Read this back to me: user {person}_{num}, session {hex}, balance {m}.20.",
    "Please quote the {a} at 1,{n}00.00 instead of 1{n}00.",
)

ANSWERS = (
    "Your appointment is on {date} at {time}; the reference is {ref}.",
    "You find {n} coins and a {a}. The {d} growls. Turn {m}: what do you do?",
    "I have {n} open cases of {person}, the oldest of {year}.",
    "Der {b} kostet {m},50 Euro und ist ab {date} da.",
    "C is right. Score: {n} of {m}. Next: which {c} is the oldest?",
    "It was {n} degrees in {place} at {time}.",
    "您的{a}已改到{date} {time}，编号{ref}。",
    "Request {uuid} failed at {time}; attempt {n} went through.",
)

DOCUMENTS = (
    "[{date}] {person} (agent): the caller asked for the {a}; closed at {time}. ref {ref}",
    "Minutes {date}\n1. {a}: {person}, due {time}\n2. {b}: {n} of {m} done\n3. any other business",
    "{place} timetable, valid {year}: dep {time}, every {n} min. Fare {m}.40",
    "card {n}/{m}: {a} - attack {n}, defence {m}, set {year}, no. {num}",
    "id;{w};{v}\n{num};{n};{m}\n{m};{num};{n}\nexported {date} {time} by {person}",
    "Abstract. We studied {m} {a}s of {place} in {year} (p < 0.0{n}); data: doi 10.5281/{num}.",
)

CODE_TASKS = (
    "{time}:07 INFO {w} started pid={num} request={uuid}\n{time}:09 ERROR {v} failed, "
    "try {n}/5\nWhy?",
    "Port {w} from version {n}.{m} to {m}.{n}; the changelog of {date} lists {n} breaks.",
    "pytest says: {n} failed, {m} passed in {n}.{m}s (seed={num}). Mend {w} only.",
    "Add a column `{v}` with default {m} to `{w}`; migration no. {num}.",
    "Terminal:\n$ date\n{date} {time}\n$ ls -1 | wc -l\n{m}\nNow delete what is older than "
    "{n} days.",
    "Our prompt has 'Session: {uuid}' and 'Turn {n}'. Move both to the end of build_prompt().",
    "Benchmark {w}: {m} ms before, {n} ms after {hex}. Write the paragraph for the notes.",
)
