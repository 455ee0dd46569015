"""Published specifications to facts: one reader per published form, bytes in, facts and findings out.

What a form looks like belongs here, and what in it is wrong by its own light. Which of two sources is right, and
whether a part is known to the registry, belongs in `reconciling.facts`.
"""
