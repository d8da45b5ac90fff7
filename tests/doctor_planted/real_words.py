"""Words for the forms of public applications: what users, documents and rules of theirs say that
changes for good reason, or never: questions with times and ids, quoted mails, logs, diffs, file
listings, results; rules with clocks that stand still.
"""

from doctor_planted.base_words import CODE_WORDS

__all__ = ["ANSWERS", "BROWSE_RULES", "CODE_RULES", "CODE_TASKS", "CODE_WORDS", "DOCUMENTS",
           "QUESTIONS", "RULES"]  # fmt: skip

RULES = (
    # tau_bench's policies: a clock that never moves
    "The current time is 2024-05-15 15:00:00 EST. As an agent of {name} you can book, change or "
    "cancel a {a}.",
    "Before you change the {b}, tell all details and wait for the user's yes.",
    "Support hours: Monday-Friday 09:00-17:30 CET, Saturday 10:00-14:00. Hotline +49 30 {num}.",
    "Knowledge cutoff: 2024-06. Policy version 3.2.{n}, last updated on 2025-11-03 (ticket "
    "POL-{num}).",
    "Example:\nUser: My order #W{num} is late.\nAgent: I am sorry. May I have your zip code?\n"
    "Do not reuse the numbers of this example.",
    "<faq>\nQ: How long does a {c} take?\nA: {n} days.\nQ: Who pays?\nA: {name}.\n</faq>",
    "If the user is in {place}, use kilometres; if the user's name is unknown, ask for it once.",
    "Du bist der Assistent von {name}. Duze niemanden. Der {d} gilt {n} Monate.",
    "你是{name}的客服助手。{b}的有效期为{n}个月，费用{m}元。",
    "Eres el asistente de {name}. Nunca prometas un {a} antes de {n} días.",
    "あなたは{name}のアシスタントです。{c}の手数料は{m}円です。",
    "Tell nothing that neither the user nor a tool has told. Hand over to a person only where a "
    "request is beyond your tools.",
    "Maximum {m} tool calls per conversation. Use at most {n} turns for small talk.",
    "A {d} can be one of: 'pending', 'processed', 'delivered', or 'cancelled'.",
)

CODE_RULES = (
    "You are a coding agent in a terminal; the CLI is open source, the company's model is not.",
    "You are a tool of the command line that helps with software engineering.",
    "# Use of tools\n- Search files with the Task tool, to save context.\n- Call several tools at "
    "once where you can.",
    "Aider v0.{n}.0 style: use *SEARCH/REPLACE* blocks, one per change, never elide code.",
    "IMPORTANT: Never use `git push --force`. IMPORTANT: keep answers under {n} lines.",
    "<example>\nuser: what is 2+2?\nassistant: 4\n</example>\n<example>\nuser: which file holds "
    "{w}?\nassistant: src/{w}.c\n</example>",
    "When running tests use `timeout {m}s`. Do not poll more than {n} times.",
    "当前仓库使用 {w} 作为主要模块。修改前先运行测试。",
    "The repository was cloned at commit 4f2a9c1; its branch is main; CI runs at 02:00 UTC.",
    "Be active, but do nothing that surprises the user.",
    "Sandbox: workspace-write. Network access: restricted. Approvals: on-request.",
)

BROWSE_RULES = (
    "You work in a loop and do a user's tasks in a browser.",
    "Elements stand as [index]<type>text</type>; use only those that have a number.",
    "If you fail {n} times with one approach, try another one. Step budget: {m}0.",
    "Call done when the task is done, or cannot be done.",
    "Always answer in JSON: {{\"evaluation\": \"...\", \"memory\": \"...\", \"action\": [...]}}",
    "The viewport is 1280x{m}0. Coordinates start at the upper left.",
    "Antworte auf Deutsch. Drücke nie auf «Bezahlen», ohne zu fragen.",
    "Cookie banners: reject all. Captchas: wait {n} seconds, then ask the user.",
    "Quote prices with the date that the page shows.",
)  # fmt: skip

QUESTIONS = (
    "Fwd: Re: {a}\n\nOn {date} at {time}, {person} <{person}@mail.example> wrote:\n> Hi,\n> my "
    "{b} ({ref}) has not come.\n> Regards\nCan you handle this?",
    "ls -la\ntotal {n}\n-rw-r--r-- 1 {person} staff {num} {date} {time} {a}.pdf\n-rw-r--r-- 1 "
    "{person} staff {m} {date} {time} notes.txt\nwhich one is the {b}?",
    "{date} {time} - {person}: is the {a} there?\n{date} {time} - Me: not yet\nWhat do I answer?",
    "Booking code {ref}, flight {num}, {date} {time} -> I need it {n} days later for {m} people.",
    "my user id is {person}_{num} and I want to exchange the {c} of order #W{num}",
    "Translate: \"Session ID: {uuid}. Your turn {n} of {m}.\"",
    "Request ID: {uuid}\nError at {date}T{time}:33Z, attempt {n}/5. What do I do with my {d}?",
    "Customer name: {person}\nPlan: pro\nThe customer asks for the {a} since {date}.",
    "Rewrite this prompt: 'Current time: {date} {time}. You are a helpful assistant for {place}.'",
    "```json\n{{\"order\": \"{ref}\", \"items\": [\"{a}\", \"{b}\"], \"placed\": \"{date}\", "
    "\"total\": {m}.90}}\n```\nWhy is the total wrong?",
    "Heute ist der {date}, ich warte seit {time}. Meine Kundennummer: {num}. Wo ist mein {c}?",
    "¿Qué hora es en {place}? Mi {a} sale el {date} a las {time}.",
    "订单号 {num}，今天是{date}，{time}还没到，第{n}次联系你们了。",
    "1. {a}\n2. {b}\n3. {c}\nSort them by price and tell which ones {person} may have.",
    "Step 1: I opened the {a}. Step 2: it said {hex}. Step {n}: nothing. Help!",
    "<document id=\"{n}\">{person} bought a {b} on {date}.</document>\nWhat did they buy?",
    "What's on my calendar for {date}? I am {person}, in {place}, GMT+{n}.",
    "Tokens used: {num}. Is that much for a {d}? It was {m} % yesterday at {time}.",
    "git status\nOn branch fix/{num}\nChanges not staged for commit:\n  modified: {a}.md\nok?",
    "Roll a die with seed {num}; I bet on {n}. If I win I want a {c}.",
)  # fmt: skip

ANSWERS = (
    "I found order #W{num}: the {a} was shipped on {date} at {time}.",
    "The reservation {ref} has {n} passengers. Shall I go on (yes/no)?",
    "Here is the mail:\n\nSubject: Your {b}\n\nDear {person},\nyour {b} is ready.\nThe team",
    "Der {c} kostet {m},00 Euro. Möchten Sie ihn bestellen?",
    "| item | days |\n| --- | --- |\n| {a} | {n} |\n| {b} | {m} |",
    "您的订单{num}已于{date}发货，请耐心等待。",
    "Attempt {n} worked: the {d} is registered under {uuid}.",
    "```\n{date} {time}:01 done {hex}\n```\nThat is all the log says.",
)

DOCUMENTS = (
    "Title: {a} in {place}\nURL: https://news.example/{date}/{num}\nPublished: {date} {time}\n"
    "Text: {person} said that the {b} will cost {m} percent more.",
    "{person} ({year}). The {c} revisited. Journal of {place}, {n}({m}), {num}. doi:10.1000/{hex}",
    "Score: 0.{num}\nSource: handbook.pdf, page {n}\nA {d} must be returned within {m} days.",
    "From: {person}\nDate: {date} {time}\nSubject: {ref}\n\nThe {a} was moved to {place}.",
    "row_id,{w},{v}\n{num},{n},{m}\n{m},{num},{n}",
    "## Meeting {date}\n- {person}: {a} is late\n- {n} open points\n- next: {time}",
)

CODE_TASKS = (
    "django__django-{num}: {w} raises {v}Error since version {n}.{m}. Steps:\n1. create a {w}\n2. "
    'call save()\nTraceback (most recent call last):\n  File "/usr/lib/{w}.py", line {num}',
    "$ git log --oneline -3\n{hex} fix {w}\n{num}abc add {v}\nwhich of these broke the build of "
    "{date}?",
    "src/\n├── {w}.ts\n├── {v}.ts\n└── index.ts ({n} lines)\nPlease merge the first two.",
    "diff --git a/{w}.go b/{w}.go\n@@ -{n},{m} +{n},{m} @@\n-// {date}\n+// {year}\nreview this",
    "The env is\nPORT={num}\nTZ=UTC\nDATE={date}\nand {w} still says {time}.",
    "{time}:12.{num} [worker-{n}] WARN {w} took {m} ms, request {uuid}. Why?",
    "Write a unit test for {w}.parse('{date}T{time}:00Z').",
    "用 {w} 重写 {v}，今天是{date}，版本号改成 2.{n}.{m}。",
)
