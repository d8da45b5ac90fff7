"""The head of the reply to come, where it holds more than the role: words that a template writes
ahead of each reply, or that a client wants it to begin with."""

from dataclasses import replace

from hitpath.doctor.prompt import ASSISTANT, GLUE, Prompt

_LONGEST_HEAD = 400


def are_prefilled(there: Prompt, here: Prompt) -> bool:
    """Whether a template, or a client, writes the first words of a reply to come at the end: there
    a reply stands where they stood, that begins with them, or both requests end with them."""
    olds, news = there.messages, here.messages
    if there.is_flat or here.is_flat or not len(news) > len(olds) > 0:
        return False
    if {olds[-1].segment, news[len(olds) - 1].segment} != {ASSISTANT}:
        return False
    words = there.text_of(olds[-1])
    is_head = len(words) <= _LONGEST_HEAD and olds[-1].key == news[-1].key
    if is_head or there.is_one_text or here.is_one_text:
        return is_head and there.is_one_text == here.is_one_text
    reply = here.text_of(news[len(olds) - 1])
    return bool(words) and words != reply and reply.startswith(words)


def as_head(prompt: Prompt) -> Prompt:
    """The last message as what stands around messages: the head of the reply to come."""
    begin = prompt.messages[-1].begin
    head = [replace(part, path="", segment=GLUE, form="glue") for part in prompt.parts[begin:]]
    return replace(prompt, parts=(*prompt.parts[:begin], *head), messages=prompt.messages[:-1])
