"""Who judges which task of reasoning-gym 0.1.25: found by reading all of its scorers.

Where a task has one right answer, a verifier of ours compares with it. Where several answers are
right, the task's own scorer judges, in a worker process, but only those scorers that were read and
found to run nothing of the answer. Nine of them *execute* the answer (`eval`, or sympy's
`parse_expr`, which is `eval` too); those are never called.
"""

from __future__ import annotations

VERSION = "0.1.25"
"""Another version may score otherwise, so that the table would not hold."""


def _names(text: str) -> list[str]:
    return text.split()


NUMBER = _names("""
    aiw binary_alternation chain_sum circuit_logic coin_flip count_bits count_primes
    decimal_arithmetic decimal_chain_sum dice gcd gsm_symbolic largest_island lcm leg_counting
    letter_counting maze number_format number_sequence products rectangle_count rotten_oranges
    self_reference simple_equations simple_geometry
""")

TEXT = _names("""
    ab arc_1d arc_agi base_conversion basic_arithmetic bf binary_matrix bitwise_arithmetic
    caesar_cipher calendar_arithmetic color_cube_rotation course_schedule emoji_mystery
    family_relationships figlet_font game_of_life_halting isomorphic_strings letter_jumble
    list_functions mahjong_puzzle manipulate_matrix mini_sudoku modulo_grid needle_haystack
    number_filtering number_sorting path_star pool_matrix ransom_note rearc rotate_matrix
    sentence_reordering spell_backward spiral_matrix string_insertion string_manipulation
    string_splitting string_synthesis sudoku survo syllogism time_intervals tsumego
    word_sequence_reversal word_sorting zebra_puzzles
""")

MATH = ["polynomial_multiplication"]
EXPRESSION = ["countdown", "puzzle24"]

SCORER = _names("""
    advanced_geometry complex_arithmetic cryptarithm fraction_simplification futoshiki game_of_life
    group_anagrams jugs kakurasu knight_swap knights_knaves palindrome_generation
    palindrome_partitioning polynomial_equations power_function prime_factorization quantum_lock
    shortest_path tower_of_hanoi word_ladder
""")
"""Several answers are right, and the scorer only parses the answer and plays it through."""

EXECUTES = {
    "binary_matrix": "eval(answer)",
    "countdown": "sympy's parse_expr(answer)",
    "intermediate_integration": "sympy's parse_expr(answer)",
    "n_queens": "eval(answer)",
    "polynomial_multiplication": "sympy's parse_expr(answer)",
    "puzzle24": "sympy's parse_expr(answer)",
    "simple_integration": "sympy's parse_expr(answer)",
    "spiral_matrix": "eval(answer)",
    "string_insertion": "eval(answer)",
}
"""Scorers that execute what the model wrote, and how."""

NO_GOLD = "it makes no right answer of its own, so that no gold can be checked"
REFUSED = {
    "acre": "its first problem takes 20 seconds to make",
    "boxnet": NO_GOLD,
    "codeio": "making its problems runs programs that are stored in its data",
    "composite": "it mixes other tasks: name them one by one",
    "graph_color": NO_GOLD,
    "intermediate_integration": "several answers are right, and its scorer executes them",
    "n_queens": "several answers are right, and its scorer executes them",
    "propositional_logic": NO_GOLD,
    "rubiks_cube": NO_GOLD,
    "rush_hour": NO_GOLD,
    "simple_integration": "several answers are right, and its scorer executes them",
    "sokoban": "at its first level a problem may take longer than anybody waits",
}

LEVELS = {"jugs": 2, "polynomial_multiplication": 2, "zebra_puzzles": 4}
"""Tasks of which only the first levels are offered: the others take seconds to make a problem, or
golds that are too long to be read."""

POLICIES: dict[str, dict[str, object]] = {
    # of a long decimal the last digits count here, which `number` forgives by default
    "decimal_arithmetic": {"tolerance": 0},
    "decimal_chain_sum": {"tolerance": 0},
}

VERIFIERS: dict[str, str] = {
    **dict.fromkeys(NUMBER, "number"),
    **dict.fromkeys(TEXT, "text"),
    **dict.fromkeys(MATH, "math"),
    **dict.fromkeys(EXPRESSION, "expression"),
    **dict.fromkeys(SCORER, "scorer"),
}
