#!/usr/bin/env python3
"""One thing has one word: words that were replaced do not come back.

WORDS are looked for in identifiers and comments of src/, PHRASES in comments and messages of src/
(CONTRIBUTING.md, "Language").
"""

import re

import tree

# Old word: better one. Found as a part of an identifier too: "aftermath" in kAftermath, old_aftermath.
WORDS = {
    "absorb": "apply",
    "aftermath": "attempt_outcome",
    "board": "placement_state",
    "company": "pair_interaction, interference",
    "contest": "policy_comparison",
    "co_run": "interference",
    "kernel_file": "proc_file",
    "kind_listing": "registry_table",
    "likeness": "similarity",
    "machinery": "mps_server",
    "outlook": "colocation_forecast",
    "physics": "simulation_constants",
    "pretend": "fake, simulated",
    "pretended": "fake, simulated",
    "seat": "member",
    "stand_in": "substitute, fake",
    "tenant": "member, user",
    "told_sizes": "oom_message",
    "who_is_who": "process_owners",
    "workbench": "model_session",
}
PHRASES = {
    "nobody": "no job, no user, none",
    "somebody": "another user, a process",
    "everybody": "all users, all members",
    "whoever": "the process that, the caller",
    "so many": "the number: \"N jobs\"",
    "so manieth": "every n-th",
    "is no": "is not a",
    "of ours": "of Carpool",
    "dear": "expensive",
}
# Phrases that need more than their words: "there is no GPU" is good English.
PATTERNS = {"is no": r"(?<!there )(?<!if )\bis no(?! longer)\b"}
# (file or folder, word): why it may stay.
ALLOWED = {
    ("src/estimate/tests/readers_test.cpp", "nobody"): "a name that no list of models has",
    ("src/simulate/tests/policy_comparison_test.cpp", "nobody"): "a name that no registry has",
}

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
COMMENT = re.compile(r"//.*")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def pattern(word):
    parts = re.split(r"[_ ]", word)
    return re.compile(r"(?<![A-Za-z])" + r"[_\s-]?".join(parts) + r"s?(?![A-Za-z])", re.IGNORECASE)


def phrase_pattern(phrase):
    words = PATTERNS.get(phrase, r"\b" + phrase + r"\b")
    return re.compile(words, re.IGNORECASE)


def allowed(name, word):
    return any(name.startswith(place) and word == what for place, what in ALLOWED)


def texts_of(line):
    """Identifiers and comments of a line; comments and messages of it."""
    without_strings = STRING.sub('""', line)
    comment = COMMENT.search(without_strings)
    messages = " ".join([*STRING.findall(line), comment[0] if comment else ""])
    return CAMEL.sub("_", without_strings), messages


def find(root):
    words = {word: pattern(word) for word in WORDS}
    phrases = {phrase: phrase_pattern(phrase) for phrase in PHRASES}
    for path in tree.files(root, ["src"], tree.CPP):
        name = str(path.relative_to(root))
        for word, old in words.items():
            if old.search(path.stem) and not allowed(name, word):
                yield path, 1, f'"{word}" in the name of a file: say {WORDS[word]}'
        for number, line in tree.numbered_lines(path):
            code, messages = texts_of(line)
            for word, old in words.items():
                if old.search(code) and not allowed(name, word):
                    yield path, number, f'"{word}": say {WORDS[word]}'
            for phrase, old in phrases.items():
                if old.search(messages) and not allowed(name, phrase):
                    yield path, number, f'"{phrase}": say {PHRASES[phrase]}'


if __name__ == "__main__":
    tree.run(find, __doc__)
