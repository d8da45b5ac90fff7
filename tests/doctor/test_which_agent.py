"""Agents that work at one history, or are asked one question, in one session: each is an
application of its own; an agent that changes is still one.

Requests are written by hand from the shapes of LangGraph's supervisor, Claude Code and Open WebUI.
"""

from pathlib import Path
from typing import Any

import pytest

from doctor.test_which_relative import DESK, Message, all_kinds, diagnosed, kinds, said
from hitpath.doctor.applications import are_two_agents
from hitpath.doctor.build_prompt import PromptBuilder, Said
from hitpath.doctor.prompt import Prompt

QUESTION = said("user", "How much copper did the three mines of the north give last year?")
ROLES = {
    "supervisor": "You are the supervisor. Choose who acts next: research or math. Say FINISH. "
    * 4,
    "research": "You are the research agent. Look things up, do no sums. " * 5,
    "math": "You are the math agent. Do sums and nothing else, show each step. " * 5,
}
REPLIES = [
    "Let research look it up first, then do the sum.",
    "The mines gave 40,100, 22,310 and 9,006 tonnes.",
    "Now the sum, please, of the three.",
    "71,416 tonnes in all, to the nearest tonne.",
    "FINISH, and thank you all.",
]


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"what": {"type": "string"}}}
    return {
        "type": "function",
        "function": {"name": name, "description": f"To {name}.", "parameters": parameters},
    }


def in_turns(tools: dict[str, list[str]], named: bool) -> list[dict[str, Any]]:
    """One history that agents with these tools write on, each with its own instructions."""
    rows, history = [], [QUESTION]
    for who, reply in zip(
        ("supervisor", "research", "supervisor", "math", "supervisor"), REPLIES, strict=True
    ):
        row = {"messages": [said("system", ROLES[who]), *history]}
        if tools:
            row["tools"] = [tool(name) for name in tools[who]]
        rows.append({**row, "session": "s"} if named else row)
        history = [*history, said("assistant", reply)]
    return rows


OWN_TOOLS = {"supervisor": ["route"], "research": ["web"], "math": ["add", "divide"]}


@pytest.mark.parametrize("named", [True, False])
def test_agents_with_their_own_tools_at_one_history_are_several(
    tmp_path: Path, named: bool
) -> None:
    found = diagnosed(tmp_path, in_turns(OWN_TOOLS, named))
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings] == [-1, -1, 0, -1, 2]


def test_instructions_that_share_most_but_no_tool_are_of_two_agents(tmp_path: Path) -> None:
    """LangGraph's collaboration: one long text, of which the last sentence is the agent's own."""
    house = "You are a helpful assistant who works with others. Use the tools to get on. " * 3
    rows = []
    for who in ("research", "chart", "research"):
        own = said(
            "system", f"{house}You have these tools: {who}_tool. You are {who}'s specialist."
        )
        history = [said("assistant", reply) for reply in REPLIES[: len(rows)]]
        row = {"messages": [own, QUESTION, *history], "tools": [tool(f"{who}_tool")]}
        rows.append({**row, "session": "s"})
    found = diagnosed(tmp_path, rows)
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings] == [-1, -1, 0]


@pytest.mark.parametrize(("num", "is_one"), [(90, True), (89, False)])
def test_with_other_tools_nine_tenths_of_the_instructions_are_one_agents(
    num: int, is_one: bool
) -> None:
    def sent(name: str) -> Prompt:
        letters = [f"{name}{'abcdefghij'[n % 10]}" for n in range(100 - num)]
        house = [f"{'abcdefghij'[n // 10]}{'klmnopqrst'[n % 10]}" for n in range(num)]
        told = said("system", " ".join([*house, *letters]))
        tools = [("tools[0]", tool(name))]
        return PromptBuilder().prompt([Said(told, "messages[0]"), Said(QUESTION, "m")], tools)

    assert are_two_agents(sent("web"), sent("add")) != is_one


def test_an_agent_whose_tools_were_all_renamed_is_one(tmp_path: Path) -> None:
    history = [QUESTION, said("assistant", REPLIES[0]), said("user", "Please go on then.")]
    rows = [
        {"session": "s", "messages": [said("system", DESK), *history[:num]], "tools": tools}
        for num, tools in (
            (1, [tool("find"), tool("book")]),
            (3, [tool("search"), tool("reserve")]),
        )
    ]
    found = diagnosed(tmp_path, rows)
    assert found.findings[1].relative == 0
    assert kinds(found, 1) == ["tool_set"]


def test_tools_in_turns_with_some_in_common_are_one_agents(tmp_path: Path) -> None:
    told: list[Message] = [QUESTION]
    rows = []
    for turn, reply in enumerate(REPLIES[:4]):
        tools = [tool("find"), tool("book"), tool("quote" if turn % 2 else "plan")]
        rows.append({"session": "s", "messages": [said("system", DESK), *told], "tools": tools})
        told = [*told, said("assistant", reply), said("user", f"Go on with part {turn}, please.")]
    found = diagnosed(tmp_path, rows)
    assert [finding.relative for finding in found.findings] == [-1, 0, 1, 2]
    assert set(all_kinds(found)) == {"tool_set"}


TOPIC = "Analyze if this message indicates a new conversation topic. Answer in JSON with a title. "
CODE = "You are a command line tool that helps with software tasks. Never commit unasked. " * 6
ASKED = said("user", "Please find out why the nightly build of the parser fails since Tuesday.")
ANSWERED = [ASKED, said("assistant", "Let me look at the log."), said("user", "Do so, please.")]


@pytest.mark.parametrize("has_tools", [True, False])
def test_one_question_that_is_asked_of_two_agents_makes_them_not_one(
    tmp_path: Path, has_tools: bool
) -> None:
    own = {"tools": [tool("Bash"), tool("Read")]} if has_tools else {}
    rows = [
        {"messages": [said("system", TOPIC), ASKED]},
        {"messages": [said("system", CODE), ASKED], **own},
        {"messages": [said("system", CODE), *ANSWERED], **own},
        {"messages": [said("system", TOPIC), ANSWERED[-1]]},
    ]
    found = diagnosed(tmp_path, [{**row, "session": "s"} for row in rows])
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings] == [-1, -1, 1, 0]


@pytest.mark.parametrize("num_before", [1, 3])
def test_a_dialogue_whose_instructions_were_replaced_is_one(
    tmp_path: Path, num_before: int
) -> None:
    """By its reply, or because one follows the question."""
    later = [*ANSWERED, said("assistant", "It says that a file is missing."), said("user", "Ah.")]
    rows = [
        {"session": "s", "messages": [said("system", text), *messages]}
        for text, messages in ((TOPIC * 3, later[:num_before]), (CODE, later))
    ]
    found = diagnosed(tmp_path, rows)
    assert found.findings[1].relative == 0
    assert "edited_message" in kinds(found, 1)


TASK = (
    "### Task:\nGenerate a concise title with an emoji summarizing the chat history.\n"
    "### Chat History:\n<chat_history>\nUSER: {}\nASSISTANT: {}\n</chat_history>"
)


def test_a_task_that_quotes_the_chat_is_no_compacted_history(tmp_path: Path) -> None:
    hall = said("system", "You are the helpful assistant of the town hall. Be brief and kind. " * 3)
    asked = [("When does the town hall open, and may I bring my dog?", "At eight; dogs wait."),
             ("Where do I get a passport for her?", "At desk three, with a photo.")]  # fmt: skip
    rows = []
    for number, (question, answer) in enumerate(asked):
        begun, session = [hall, said("user", question)], f"chat-{number}"
        later = [*begun, said("assistant", answer), said("user", "Thank you, good bye.")]
        title = [said("user", TASK.format(question, answer))]
        rows += [{"session": session, "messages": m} for m in (begun, title, later)]
    found = diagnosed(tmp_path, rows)
    assert all_kinds(found) == []
    assert [finding.relative for finding in found.findings] == [-1, -1, 0, 2, 1, 3]


@pytest.mark.parametrize("place", ["system", "user"])
def test_a_history_that_was_folded_into_one_message_is_told(tmp_path: Path, place: str) -> None:
    """The instructions stay in their place, or stand in that message too."""
    told = "\n".join(f"{m['role'].upper()}: {m['content']}" for m in ANSWERED[:2])
    fold = f"Summary of the conversation so far:\n{told}\n\n{ANSWERED[2]['content']}"
    folded = [said("system", CODE), said("user", fold)]
    if place == "user":
        folded = [said("user", f"{CODE}\n\n{fold}")]
    rows = [{"messages": [said("system", CODE), *ANSWERED[:2], ANSWERED[2]]}, {"messages": folded}]
    found = diagnosed(tmp_path, [{**row, "session": "s"} for row in rows])
    assert found.findings[1].relative == 0
    assert kinds(found, 1)


@pytest.mark.parametrize("mark", ["<bos>", "<|begin_of_text|>", "<s>"])
def test_what_a_template_begins_with_is_no_instruction(tmp_path: Path, mark: str) -> None:
    """One text each, of two applications: their instructions stand in the first turn."""
    desks = (
        DESK,
        "Quote the numbers of a ballast as they stand in the kiln, rounded to none. " * 4,
    )
    rows = [
        {
            "prompt": f"{mark}<start_of_turn>user\n{desk}\n\n{ask}<end_of_turn>\n"
            "<start_of_turn>model\n"
        }
        for desk, ask in zip(desks, ("Is a room free?", "How many are left?"), strict=True)
    ]
    found = diagnosed(tmp_path, rows)
    assert found.findings[1].relative == -1
