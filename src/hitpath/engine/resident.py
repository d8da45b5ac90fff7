"""What is cached, by prefix, for people who ask."""

from hitpath.engine.cache import PrefixCache, ResidentPrefix

FIRST_TOKENS = 32


def resident_prefixes(cache: PrefixCache, most: int, now_s: float) -> list[ResidentPrefix]:
    """At most `most` of them, the longest first."""
    pool = cache.pool
    chains = sorted(cache.index.chains(), key=lambda chain: -len(chain.tokens))[:most]
    found = []
    for salt, tokens, blocks in chains:
        last = int(blocks[-1])
        used = bool(pool.references[last] > 0)
        found.append(
            ResidentPrefix(
                num_tokens=len(tokens),
                tokens=tuple(tokens[:FIRST_TOKENS].tolist()),
                cache_salt=salt,
                num_blocks=len(blocks),
                in_use=used,
                pinned=bool(pool.pins[last] > 0),
                hits=int(pool.hits[last]),
                idle_s=0.0 if used else now_s - float(pool.idle_since_s[last]),
            )
        )
    return found
