"""Checks in the manner of IFEval: what each asks, both layouts of a gold, what is never paid."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop
from evenodds.verifiers import find_verifier
from evenodds.verifiers.instructions import Policy, instructions
from evenodds.verifiers.instructions.checks import RULES
from evenodds.verifiers.instructions.language import language_of

MANY = "one two three four five. " * 20


def problem(*rows: dict[str, object]) -> Problem:
    return Problem("key", "prompt", json.dumps({"instructions": rows}), "task")


def passes(name: str, arguments: dict[str, object], answer: str) -> bool:
    verdict = instructions(problem({"id": name, **arguments}), Completion(answer))
    assert verdict.status in (Status.RIGHT, Status.WRONG, Status.NO_ANSWER), verdict
    assert verdict.score == float(verdict.status is Status.RIGHT)
    return verdict.status is Status.RIGHT


CASES: list[tuple[str, dict[str, object], list[str], list[str]]] = [
    (
        "keywords:existence",
        {"keywords": ["mom", "Mother"]},
        ["Mom is my mother.", "MOM, mother!"],
        ["A moment with mother", "mom", "mothers and mom"],
    ),
    (
        "keywords:frequency",
        {"keyword": "war", "relation": "at least", "frequency": 2},
        ["War and war.", "war-war"],
        ["war", "toward a warm award, war"],
    ),
    (
        "keywords:frequency",
        {"keyword": "c++", "relation": "exactly", "frequency": 1},
        ["I like C++.", "c++"],
        ["C", "c++ and C++"],
    ),
    (
        "keywords:frequency",
        {"keyword": "as well", "relation": "less than", "frequency": 2},
        ["as well", "none of it"],
        ["as well as well", "As well, as well"],
    ),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["rock", "field"]},
        ["a rocket on fields", "nothing"],
        ["Rock!", "the FIELD"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "!", "let_relation": "at least", "let_frequency": 3},
        ["a!!!", "a! b! c!"],
        ["a!!", "abc"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "T", "let_relation": "less than", "let_frequency": 2},
        ["a t", "none"],
        ["Tt", "that"],
    ),
    (
        "length_constraints:number_sentences",
        {"relation": "exactly", "num_sentences": 2},
        [
            "One. Two.",
            "Dr. A. Smith paid 3.14 dollars, e.g. in cash. He left!",
            'He said "Go!" Then he went',
            "1. First comes this.\n2. Then this.",
            "Wait... what?! Yes",
        ],
        ["One.", "One. Two. Three.", "one two", "A. b. c. d. e. f."],
    ),
    (
        "length_constraints:number_words",
        {"relation": "at least", "num_words": 5},
        ["a b c d e", "don't don't so"],
        ["a b c d", "- - - - - -", "abcdefghijk"],
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        ["one\n***\ntwo", "one *** two", "***\none\n***\ntwo\n***"],
        ["one", "one\n\ntwo", "one\n***\n***\ntwo", "a ****** b", "a *** b *** c"],
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Firstly"},
        ["Hello.\n\nfirstly, this.", "a\n\n\n\n**Firstly** b", "a\n \n'Firstly' b"],
        ["Firstly\n\nb", "a\n\nb\n\nfirstly", "a\n\nfirst b", "firstly"],
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        ["[name] of [street, 5]"],
        ["[name]", "[] [ ]", "[a](b) [c](d)", "[[[[[", "[x] y ]"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
        ["Hi.\nP.S. I like cake", "a\n**P. S.: more**", "p.s. x"],
        ["Hi. P.S. no", "Hi\nP.S.", "Hi\nPSA: no", "Hi\nP.P.S. no"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
        ["Hi.\nP.P.S. I like cake", "a\nP.P.S x"],
        ["a\nP.S. x"],
    ),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        ["Here:\n* a\n* b", "- a\n  - b"],
        ["* a", "* a\n* b\n* c", "*a*\n*b*", "---\n---", "* \n* "],
    ),
    (
        "detectable_format:constrained_response",
        {},
        ["My answer is yes.", "I see. My answer is maybe."],
        ["yes", "My answer is yes. My answer is no.", "my answer is yes"],
    ),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        ["*a* and **b c**", "***a*** *b*", "* *x* y\n* *z*"],
        ["*a*", "* a * b *", "** **  ****", "*a\nb* *c*", "**a**"],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Section", "num_sections": 2},
        ["Section 1\nhi\nSection 2\nho", "## Section 1: hi\n**Section 2** ho"],
        ["Section 1\nSection 2", "Section 1 a\nSection 1 b", "see Section 1, Section 2", "Section"],
    ),
    (
        "detectable_format:json_format",
        {},
        ['{"a": 1}', "```json\n[1, 2]\n```", '{"é": "1"}'],
        ["1", '"words in quotes"', '{"a": NaN}', "[" * 50_000 + "1", 'Here: {"a": 1}', "```json 1"],
    ),
    (
        "detectable_format:title",
        {},
        ["<<poem of joy>>\nhi", "a <<b>> c"],
        ["<<>>", "<< >>", "<<a\nb>>", "<title>", "<<" * 1000 + "a"],
    ),
    (
        "combination:two_responses",
        {},
        ["one\n******\ntwo", "****** a ****** b ******"],
        ["one", "one ****** One ", "a****** ", "a******b******c", "a ************ b"],
    ),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "Write a  poem."},
        ["write a poem.\nRoses", "  Write a\npoem. ok"],
        ["Write a poem.", "Sure! Write a poem. x", "Write a poem"],
    ),
    (
        "startend:end_checker",
        {"end_phrase": "Any other questions?"},
        ["Hi. Any other questions?", '"hi any other\nquestions?"\n'],
        ["Any other questions? No.", "Any other question?"],
    ),
    (
        "startend:quotation",
        {},
        ['"hello"', "“hello”\n"],
        ['"hello', '""', '"', 'he said "x"'],
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_relation": "less than", "capital_frequency": 2},
        ["I am here", "WELL-KNOWN fact", "none"],
        ["THIS IS", "A B"],
    ),
    ("change_case:english_capital", {}, ["HELLO WORLD 1"], ["Hello", "ПРИВЕТ", "DER UND NICHT"]),
    ("change_case:english_lowercase", {}, ["hello world"], ["Hello", "der hund ist nicht da"]),
    ("punctuation:no_comma", {}, ["a; b"], ["a, b", "你好，世界", "", "...", " \n"]),
]


@pytest.mark.parametrize(("name", "arguments", "good", "bad"), CASES, ids=lambda v: str(v)[:40])
def test_what_each_instruction_asks(
    name: str, arguments: dict[str, object], good: list[str], bad: list[str]
) -> None:
    assert {answer: passes(name, arguments, answer) for answer in good} == dict.fromkeys(good, True)
    assert {answer: passes(name, arguments, answer) for answer in bad} == dict.fromkeys(bad, False)


def test_every_instruction_has_a_case() -> None:
    assert {name for name, *_ in CASES} | {"language:response_language"} == set(RULES)
    assert len(RULES) == 25


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The cat sat on the mat and it was happy with that."),
        ("de", "Der Hund ist nicht im Haus, sondern auf der Wiese und bellt."),
        ("fr", "Le chat est dans la maison et il ne mange pas avec nous."),
        ("es", "El perro no está en la casa pero los niños son muy felices."),
        ("it", "Il gatto è nella casa e non mangia con gli altri della famiglia."),
        ("pt", "O cachorro não está em casa, mas as crianças são uma alegria para os pais."),
        ("nl", "De hond is niet in het huis maar op een veld met zijn vrienden."),
        ("sv", "Hunden är inte i huset utan på en äng och den har det bra."),
        ("fi", "Koira ei ole talossa vaan se on pihalla ja leikkii kun on kesä."),
        ("pl", "Pies nie jest w domu, ale bawi się na łące i to jest dla niego dobre."),
        ("tr", "Köpek evde değil ve bu çok güzel bir gün için iyi."),
        ("vi", "Con chó không ở trong nhà và nó là một người bạn của tôi."),
        ("sw", "Mbwa hayuko katika nyumba lakini yeye ni rafiki wa watu na watoto."),
        ("id", "Anjing itu tidak ada di rumah dan dia bermain dengan anak yang lain."),
        ("ru", "Собака не в доме, она на улице и играет как и все."),
        ("uk", "Собака не в хаті, він на вулиці та грає як і всі, бо це його дім."),
        ("bg", "Кучето не е в къщата, то е на двора и се играе с другите."),
        ("ar", "الكلب ليس في البيت بل هو في الحديقة مع الأطفال على العشب."),
        ("fa", "سگ در خانه نیست و این برای بچه‌ها خوب است که با آن بازی کنند."),
        ("ur", "کتا گھر میں نہیں ہے اور وہ باغ میں بچوں کے ساتھ ہے۔"),
        ("hi", "कुत्ता घर में नहीं है और वह बगीचे में खेल रहा है।"),
        ("mr", "कुत्रा घरात नाही आणि तो बागेत आहे."),
        ("ne", "कुकुर घरमा छैन र यो बगैंचामा खेल्दै छ।"),
        ("kn", "ನಾಯಿ ಮನೆಯಲ್ಲಿ ಇಲ್ಲ"),
        ("pa", "ਕੁੱਤਾ ਘਰ ਵਿੱਚ ਨਹੀਂ ਹੈ"),
        ("th", "สุนัขไม่อยู่ในบ้าน"),
        ("ko", "개는 집에 없습니다"),
        ("ja", "犬は家にいません"),
        ("zh", "狗不在家里"),
        ("el", "Ο σκύλος δεν είναι στο σπίτι"),
        (None, "xyzzy plugh"),
        (None, "12345"),
        (None, "half english half ਕੁੱਤਾ ਘਰ ਵਿੱਚ"),
    ],
)
def test_languages(language: str | None, text: str) -> None:
    assert language_of(text) == language
    if language:
        assert passes("language:response_language", {"language": language}, text)
        other = "en" if language != "en" else "de"
        assert not passes("language:response_language", {"language": other}, text)


def test_the_published_layout_and_the_columns_of_a_row() -> None:
    """A published row names all arguments and leaves null those of other instructions."""
    null = {"num_words": None, "relation": None, "keywords": None}
    row = {
        "key": 1000,
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [null, {**null, "relation": "at least", "num_words": 3.0}],
    }
    by_text = Problem("key", "prompt", json.dumps(row), "task")
    by_columns = Problem("key", "prompt", "", "task", columns=row)
    names = {"instruction_id_list": row["instruction_id_list"]}
    by_kwargs = Problem("key", "prompt", json.dumps(row["kwargs"]), "task", columns=names)
    for asked in (by_text, by_columns, by_kwargs):
        assert instructions(asked, Completion("a b c")).status is Status.RIGHT
        verdict = instructions(asked, Completion("a, b"))
        assert dict(verdict.parts) == dict.fromkeys(row["instruction_id_list"], 0.0)


def test_one_part_for_each_check_and_a_share_by_policy() -> None:
    asked = problem(
        {"id": "keywords:frequency", "keyword": "a", "relation": "at least", "frequency": 1},
        {"id": "keywords:frequency", "keyword": "b", "relation": "at least", "frequency": 1},
    )
    verdict = instructions(asked, Completion("a"))
    assert (verdict.score, verdict.status) == (0.0, Status.WRONG)
    assert dict(verdict.parts) == {"keywords:frequency": 1.0, "keywords:frequency#2": 0.0}
    assert "keywords:frequency#2" in verdict.note
    share = instructions(asked, Completion("a"), Policy(score="share"))
    assert (share.score, share.status) == (0.5, Status.WRONG)


def test_loose_passes_without_a_first_or_last_line_or_asterisks() -> None:
    quoted = problem({"id": "startend:quotation"})
    ending = problem({"id": "startend:end_checker", "end_phrase": "Bye."})
    for asked, answer in (
        (quoted, 'Sure:\n"hi"'),
        (quoted, 'Sure:\n"hi"\nDone.'),
        (quoted, '*"hi"*'),
        (ending, "x **Bye.**"),
    ):
        assert instructions(asked, Completion(answer)).status is Status.WRONG
        loose = find_verifier("instructions", {"mode": "loose"})
        assert loose(asked, Completion(answer)).status is Status.RIGHT


def test_keywords_inside_longer_words_by_policy() -> None:
    asked = problem({"id": "keywords:existence", "keywords": ["sneaker"]})
    assert instructions(asked, Completion("sneakers")).status is Status.WRONG
    policy = Policy(keywords="part")
    assert instructions(asked, Completion("sneakers"), policy).status is Status.RIGHT


@pytest.mark.parametrize(
    "gold",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"instructions": []}',
        '{"instructions": [1]}',
        '{"instructions": [{"id": "keywords:unknown"}]}',
        '{"instructions": [{"id": "length_constraints:number_words", "num_words": 3}]}',
        '{"instructions": [{"id": "detectable_format:number_bullet_lists", "num_bullets": "3"}]}',
        '{"instructions": [{"id": "detectable_format:number_bullet_lists", "num_bullets": true}]}',
        '{"instructions": [{"id": "punctuation:no_comma", "num_word": 3}]}',
        '{"instructions": [{"id": "keywords:existence", "keywords": []}]}',
        '{"instructions": [{"id": "keywords:existence", "keywords": [""]}]}',
        '{"instructions": [{"id": "language:response_language", "language": "tlh"}]}',
        '{"instructions": [{"id": "length_constraints:number_words", "relation": "more", '
        '"num_words": 3}]}',
        '{"instruction_id_list": ["punctuation:no_comma"], "kwargs": []}',
        '{"instruction_id_list": ["punctuation:no_comma"]}',
        "[" * 100_000,
    ],
)
def test_a_gold_that_cannot_be_read_is_never_paid(gold: str) -> None:
    verdict = instructions(Problem("key", "prompt", gold, "task"), Completion("words"))
    assert (verdict.score, verdict.status) == (0.0, Status.GOLD_UNREADABLE)
    assert verdict.note.startswith("the gold: ")


NO_COMMA = problem({"id": "punctuation:no_comma"})


@pytest.mark.parametrize(
    ("answer", "stop", "tail", "status"),
    [
        ("<think>a, b</think>fine", Stop.END_TOKEN, "", Status.RIGHT),
        ("a, b</think>fine", Stop.END_TOKEN, "<think>\n", Status.RIGHT),
        ("<think>fine", Stop.END_TOKEN, "", Status.NO_ANSWER),
        ("fine", Stop.END_TOKEN, "<think>\n", Status.NO_ANSWER),
        ("fine", Stop.BUDGET, "", Status.TRUNCATED),
        ("fine<|im_end|>", Stop.END_TOKEN, "", Status.RIGHT),
        ("", Stop.END_TOKEN, "", Status.NO_ANSWER),
        ("…", Stop.END_TOKEN, "", Status.NO_ANSWER),
        (",a" + "a" * 200_000, Stop.END_TOKEN, "", Status.WRONG),
        ("<think>" + "a," * 100_000 + "</think>fine", Stop.END_TOKEN, "", Status.RIGHT),
    ],
)
def test_what_counts_as_the_answer(answer: str, stop: Stop, tail: str, status: Status) -> None:
    verdict = instructions(NO_COMMA, Completion(answer, stop, tail))
    assert (verdict.score, verdict.status) == (float(status is Status.RIGHT), status), verdict


EVERYTHING = problem(*({"id": name, **arguments} for name, arguments, *_ in CASES))
HOSTILE = ["[", "*", "<<", "a*", ".", "a.", "\n", "Section 1\n", '"', "'a", "-", "aa ", "***", "{"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_costs_little(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    start = time.process_time()
    instructions(EVERYTHING, Completion(text), Policy(mode="loose"))
    assert time.process_time() - start < 5


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=200), st.sampled_from(list(Stop)), st.sampled_from(["strict", "loose"]))
def test_any_text_gives_a_verdict(answer: str, stop: Stop, mode: str) -> None:
    policy = Policy(mode=mode, score="share")  # pyright: ignore[reportArgumentType]
    verdict = instructions(EVERYTHING, Completion(answer, stop), policy)
    assert 0.0 <= verdict.score <= 1.0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda c: (
            st.lists(c, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["instructions", "id", "kwargs", "instruction_id_list", "keywords"]
                ),
                c,
                max_size=3,
            )
        ),
    )
)
def test_any_gold_gives_a_verdict(gold: object) -> None:
    asked = Problem("key", "prompt", json.dumps(gold), "task")
    assert instructions(asked, Completion("a")).status is Status.GOLD_UNREADABLE
