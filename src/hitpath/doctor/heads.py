"""The head of the reply to come, where it holds more than the role: words that a template writes
ahead of each reply, or that a client wants it to begin with."""

from dataclasses import replace

from hitpath.doctor.prompt import ASSISTANT, GLUE, Prompt

_LONGEST_HEAD = 400


def are_prefilled(there: Prompt, here: Prompt) -> bool:
    """Whether a template, or a client, writes the same words of a reply to come at the end of both:
    there a reply stands where they stood."""
    if not (there.is_one_text and here.is_one_text) or there.is_flat or here.is_flat:
        return False
    olds, news = there.messages, here.messages
    if not len(news) > len(olds) > 0 or {olds[-1].segment, news[-1].segment} != {ASSISTANT}:
        return False
    is_short = len(there.text_of(olds[-1])) <= _LONGEST_HEAD
    return is_short and olds[-1].key == news[-1].key and news[len(olds) - 1].segment == ASSISTANT


def as_head(prompt: Prompt) -> Prompt:
    """The last message as what stands around messages: the head of the reply to come."""
    begin = prompt.messages[-1].begin
    head = [replace(part, path="", segment=GLUE, form="glue") for part in prompt.parts[begin:]]
    return replace(prompt, parts=(*prompt.parts[:begin], *head), messages=prompt.messages[:-1])
