"""What stands in the place of one message that was dropped: a note, in whatever words, by somebody
else. Written by hand from the documented shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doctor.test_dialogues_and_forms import said
from doctor.test_histories import HEAD, turn
from doctor.test_kinds_of_histories import NEXT, kinds

if TYPE_CHECKING:
    from pathlib import Path

LOG = "```\n04:21:01 done a70715a13887\n```\nThat is all that the log of the boiler says."


@pytest.mark.parametrize(
    ("role", "note", "kind"),
    [
        ("user", "Part of the history was trimmed to save tokens. Some messages \nof this part "
         "were removed.", "truncated_history"),
        ("system", "Gap in what is shown here.", "truncated_history"),
        ("assistant", LOG.replace("boiler", "cellar"), "edited_message"),
        ("assistant", "The log says nothing, I am sorry to tell.", "edited_message"),
        ("user", "The log of the boiler says 04:21:01 done a70715a13887, and that is all.",
         "edited_message"),
    ],
)  # fmt: skip
def test_one_message_that_gave_way(role: str, note: str, kind: str, tmp_path: Path) -> None:
    before = [*HEAD, said("assistant", LOG), NEXT]
    after = [*HEAD, said(role, note), NEXT, *turn(1)]
    assert kinds(before, after, tmp_path) == [kind]
