"""What happens between the turns of real agents: the generator says the truth of itself, and
`hitpath doctor` names and places a drawn part of the forms.
"""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from doctor_planted.judge import run_doctor, table
from doctor_planted.judging import Score
from doctor_planted.plain_diff import first_difference
from doctor_planted.test_planted_defects import LEAST
from doctor_planted.threads_bodies import body_of
from doctor_planted.threads_clean import plain
from doctor_planted.threads_forms import FORMS, Form
from doctor_planted.threads_judge import judged
from doctor_planted.threads_sessions import make_app, steps_of
from doctor_planted.threads_traces import make_traces, planted_in
from doctor_planted.threads_truth import truth_of
from doctor_planted.threads_words import APPS

pytestmark = pytest.mark.long

SEED = 40714
DRAWN = 8
MOST = 12
"""Applications after which a form must have shown."""


def test_every_form_changes_what_was_sent() -> None:
    """Soon two requests of an application differ by what the form says of itself."""
    silent = {form.name for form in FORMS.values() if not _shows(form, Random(form.name))}
    assert silent == set()


def _shows(form: Form, rng: Random) -> bool:
    for _ in range(MOST):
        style, shape = rng.choice(form.styles), rng.choice(form.shapes)
        sent = planted_in(make_app(rng, rng.choice(APPS)[0], shape, style), form, rng)
        for old, new in pairwise(sent):
            true = truth_of(new, old)
            if true.kind == form.kinds[0] and true.counts:
                return True
    return False


def test_threads_without_a_form_only_grow() -> None:
    rng = Random(SEED)
    for name, shape in APPS:
        for style in ("openai", "anthropic_blocks", "responses", "flat_qwen3", "flat_llama"):
            app = make_app(rng, name, shape, style)
            last: dict[str, object] = {}
            for step in plain(app, steps_of(app), rng):
                body, old = body_of(step), last.get(step.session.name)
                last[step.session.name] = body
                place = first_difference(old, body) if isinstance(old, dict) else None
                assert place is None or place.ends, (name, style, place)


def test_drawn_forms_are_named_and_placed(tmp_path: Path) -> None:
    names = tuple(Random(SEED).sample(sorted(FORMS), DRAWN))
    ((sent, lines),) = make_traces(SEED, names)
    path = tmp_path / "threads.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    scores = judged(sent, run_doctor(path, tmp_path))
    report = "\n".join(f"{table(score)}\n{[f.said for f in score.faults[:5]]}" for score in scores)
    assert _worst(scores[0]) >= LEAST, report
    assert _worst(scores[1]) >= LEAST, report
    assert scores[0].wrong_relatives == scores[0].wrong_common == 0, report


def _worst(score: Score) -> float:
    figures = [
        figure
        for tally in score.tallies.values()
        for figure in (tally.precision, tally.recall, tally.exact_frac)
    ]
    return min(figure for figure in figures if figure is not None)
