"""`hitpath serve`: its options are the engine's, and what is wrong with them is one line."""

from dataclasses import fields
from inspect import signature

import pytest

from cli import call
from hitpath.cli_serve import ENGINE, serve


def test_every_switch_of_the_engine_is_an_option_with_its_default():
    options = signature(serve).parameters
    for field in fields(ENGINE):
        if field.name == "kv_cache_bytes":
            assert options["kv_gib"].default * 2**30 == ENGINE.kv_cache_bytes
        else:
            assert options[field.name].default == getattr(ENGINE, field.name), field.name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give a model folder, or --tiny"),
        (("--tiny", "--block-size", "0"), "--block-size: 0 is less than 1"),
        (("--tiny", "--kv-gib", "0"), "--kv-gib 0"),
        (("nowhere", "--port", "0"), "no such folder"),
    ],
)
def test_what_cannot_be_served_is_one_line(options, said):
    result = call("serve", *options)
    assert result.code == 2
    assert said in result.err
