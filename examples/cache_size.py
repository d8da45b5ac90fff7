"""How large must the cache be? The LRU curve is exact at every size.

$ python examples/cache_size.py
unlimited: 76.39 %
 1,024 tokens: 47.92 %
 2,048 tokens: 75.69 %
 4,096 tokens: 76.39 %
90 % of that with 1,824 tokens
"""

import hitpath

# Eight users take turns; each turn repeats the conversation and adds 64 tokens.
rows = []
for turn in range(1, 5):
    for user in range(8):
        parts = [["system", 128]] + [[f"user {user}, turn {t}", 64] for t in range(turn)]
        rows.append(
            {
                "id": f"{user}.{turn}",
                "arrival_s": len(rows),
                "segments": parts,
                "session": f"user {user}",
            }
        )

found = hitpath.analyze(rows, block_size=16)
print(f"unlimited: {found.hit_rate:.2%}".replace("%", " %"))
for capacity_tokens in (1024, 2048, 4096):
    rate = found.hit_rate_at(capacity_tokens)
    print(f"{capacity_tokens:>6,} tokens: {rate:.2%}".replace("%", " %"))
print(f"90 % of that with {found.document['capacity_for']['0.9']:,} tokens")
