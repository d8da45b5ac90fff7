"""An independent judge of `hitpath doctor`: prompts with planted defects, and a scorer.

Nothing here imports hitpath's rules: what is true of two prompts comes from marks that the planter
sets and from a plain character diff of the two bodies.
"""
