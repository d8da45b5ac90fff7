"""`/v1/cache`: what is resident, by prefix, and clearing it.

A salt keeps tenants apart, so it keeps them apart here too: prompts of a salt, and the salt
itself, are shown only to who gives it (`?cache_salt=`). Others see lengths, and a label that is
the same for one salt and another one after a restart.
"""

import hashlib
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hitpath.serve.info import json_response
from hitpath.serve.problems import refused
from hitpath.serve.state import STATE, ServerState

if TYPE_CHECKING:
    from hitpath.engine.cache import ResidentPrefix

MOST_PREFIXES = 100


async def show_cache(request: web.Request) -> web.Response:
    """GET /v1/cache?limit=&cache_salt=. Raises Problem."""
    state = request.app[STATE]
    state.check_takes_requests()
    limit, salt = _limit(request), request.query.get("cache_salt")
    stats = await state.served.stats()
    prefixes = await state.served.resident(limit)
    size = stats.block_size
    return json_response(
        {
            "object": "cache",
            "block_size": size,
            "total_blocks": stats.total_blocks,
            "free_blocks": stats.free_blocks,
            "cached_blocks": stats.cached_blocks,
            "used_blocks": stats.used_blocks,
            "kv_bytes_per_token": stats.kv_bytes_per_token,
            "prefixes": [_prefix(state, one, salt) for one in prefixes],
        }
    )


async def clear_cache(request: web.Request) -> web.Response:
    """DELETE /v1/cache: requests that run keep their KV."""
    state = request.app[STATE]
    state.check_takes_requests()
    cleared = await state.served.clear_cache()
    return json_response({"object": "cache", "cleared_tokens": cleared})


def _prefix(state: ServerState, one: "ResidentPrefix", salt: str | None) -> dict[str, Any]:
    shown = one.cache_salt is None or one.cache_salt == salt
    return {
        "num_tokens": one.num_tokens,
        "num_blocks": one.num_blocks,
        "salt": None if one.cache_salt is None else _label(state, one.cache_salt),
        "first_tokens": list(one.tokens) if shown else None,
        "text": state.tokenizer.decode(one.tokens) if shown else None,
        "in_use": one.in_use,
        "pinned": one.pinned,
        "hits": one.hits,
        "idle_s": round(one.idle_s, 6),
    }


def _label(state: ServerState, salt: str) -> str:
    return hashlib.blake2b(salt.encode(), key=state.label_key, digest_size=4).hexdigest()


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(MOST_PREFIXES))
    unknown = set(request.query) - {"limit", "cache_salt"}
    if unknown:
        raise refused(min(unknown), "unknown parameter", "unknown_parameter")
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise refused("limit", "must be a whole number from 0 to 999,999")
    return int(text)
