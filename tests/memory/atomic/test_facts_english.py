"""Which facts of an English memory can stand alone: one for each of the things it names side by side."""

from __future__ import annotations

import time

import pytest

from apps.memory.atomic.facts import find_left, list_facts
from apps.memory.atomic.vectors import Statement, embed


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (
            "The user's sister's a nurse and the user's brother's a vet.",
            ["The user's sister's a nurse.", "The user's brother's a vet."],
        ),
        (
            "The rent for the stall is 450 and the garage costs 70.",
            ["The rent for the stall is 450.", "The garage costs 70."],
        ),
        (
            "The user mentioned: The van loan is 310 a month, the boat loan 95.",
            ["The user mentioned: The van loan is 310 a month.", "The user mentioned: The boat loan is 95."],
        ),
        (
            "On Tuesdays the user has Pilates, on Saturdays ceramics.",
            ["On Tuesdays the user has Pilates.", "On Saturdays the user has ceramics."],
        ),
        (
            "The user's wife freelances as a potter and runs a kiosk at the pier.",
            ["The user's wife freelances as a potter.", "The user's wife runs a kiosk at the pier."],
        ),
        (
            "The user's nieces visit on Fridays, the user rings the user's nan on Sundays.",
            ["The user's nieces visit on Fridays.", "The user rings the user's nan on Sundays."],
        ),
        ("The user also plays golf and lives in Hull.", ["The user also plays golf.", "The user lives in Hull."]),
        ("The user knits, the user crochets.", ["The user knits.", "The user crochets."]),
        (
            "The user lives in Hull, works in York and studies in Leeds.",
            ["The user lives in Hull.", "The user works in York.", "The user studies in Leeds."],
        ),
        (
            "The user's parents have a shop in Ely and rent a flat in Malta.",
            ["The user's parents have a shop in Ely.", "The user's parents rent a flat in Malta."],
        ),
        (
            "For the heart the user takes ramipril, and the user uses an inhaler.",
            ["For the heart the user takes ramipril.", "The user uses an inhaler."],
        ),
    ],
)
def test_clauses_of_their_own_are_told_apart(content: str, facts: list[str]) -> None:
    assert list_facts(content) == facts


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (
            "The user has two cats, one called Tom, one called Anna.",
            ["The user has a cat called Tom.", "The user has a cat called Anna."],
        ),
        (
            "There are two parakeets in the user's kitchen, Fig and Plum.",
            ["There is a parakeet in the user's kitchen, Fig.", "There is a parakeet in the user's kitchen, Plum."],
        ),
        (
            "Two pastimes keep the user busy, origami and chess.",
            [
                "Two pastimes keep the user busy, one of them origami.",
                "Two pastimes keep the user busy, one of them chess.",
            ],
        ),
        (
            "The user mentioned: Two godchildren: Ida and Ben.",
            ["The user mentioned: A godchild: Ida.", "The user mentioned: A godchild: Ben."],
        ),
        (
            "The user's shoe sizes: left 41, right 42.",
            ["The user's shoe sizes: left 41.", "The user's shoe sizes: right 42."],
        ),
        (
            "The user's kids are Tom (5) and Anna (3).",
            ["One of the user's kids is Tom (5).", "One of the user's kids is Anna (3)."],
        ),
        (
            "The user's favourite drinks are tea and ginger beer.",
            ["One of the user's favourite drinks is tea.", "One of the user's favourite drinks is ginger beer."],
        ),
        (
            "Punch and Judy are the user's two ferrets.",
            ["Punch is one of the user's ferrets.", "Judy is one of the user's ferrets."],
        ),
    ],
)
def test_the_parts_of_a_head_are_told_apart(content: str, facts: list[str]) -> None:
    assert list_facts(content) == facts


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (
            "The user is mad about figs and goat cheese.",
            ["The user is mad about figs.", "The user is mad about goat cheese."],
        ),
        (
            "The user has a son in Oslo and a niece in Bergen.",
            ["The user has a son in Oslo.", "The user has a niece in Bergen."],
        ),
        (
            "The user is with Aviva for the car and Axa for the house.",
            ["The user is with Aviva for the car.", "The user is with Axa for the house."],
        ),
        (
            "The user sees a coach once a week and a chiropodist once a month.",
            ["The user sees a coach once a week.", "The user sees a chiropodist once a month."],
        ),
        (
            "The user mentioned: Installed Slack, Zoom and Teams on the user's tablet.",
            [
                "The user mentioned: Installed Slack on the user's tablet.",
                "The user mentioned: Installed Zoom on the user's tablet.",
                "The user mentioned: Installed Teams on the user's tablet.",
            ],
        ),
        (
            "The user owes the user's cousin 40, the user's uncle 90.",
            ["The user owes the user's cousin 40.", "The user owes the user's uncle 90."],
        ),
        (
            "The user cycles 8 miles on Mondays and 20 on Sundays.",
            ["The user cycles 8 miles on Mondays.", "The user cycles 20 miles on Sundays."],
        ),
        ("The user likes Greek and Thai food.", ["The user likes Greek food.", "The user likes Thai food."]),
        ("The user has a red bike and a blue one.", ["The user has a red bike.", "The user has a blue bike."]),
        (
            "The user has three cats, a dog and a parrot.",
            ["The user has three cats.", "The user has a dog.", "The user has a parrot."],
        ),
        ("The user has a cat and dog.", ["The user has a cat.", "The user has a dog."]),
        (
            "The user supports Celtic and, in cricket, Kent.",
            ["The user supports Celtic.", "The user supports Kent in cricket."],
        ),
    ],
)
def test_things_side_by_side_are_told_apart(content: str, facts: list[str]) -> None:
    assert list_facts(content) == facts


@pytest.mark.parametrize(
    "content",
    [
        "The user loves mac and cheese.",
        "The user has a black and white cat.",
        "The user splits the week between Oslo and Bergen.",
        "The user has a house with a garden and a pool.",
        "The user drinks coffee with milk and sugar.",
        "The user met Anna in Paris and Rome.",
        "The user's brother and sister live in Leeds.",
        "The user earns 3,000 a month and the user's wife 2,500.",
        "The user likes spicy and sour food.",
        "The user quit the course, the tutor was rude.",
        "The user has three cats, Tom and Mia.",
        "The user has two cats, a dog and a parrot.",
        "The user ordered a sofa and it was broken.",
        "The user and Tom cook together.",
        "The user hates the noise and dirt of the city.",
    ],
)
def test_what_is_one_or_in_doubt_stays_whole(content: str) -> None:
    assert list_facts(content) == [content]


@pytest.mark.parametrize(
    ("content", "said", "left"),
    [
        ("The user's rabbits are called Salt and Pepper.", "Pepper died.", "One of the user's rabbits is called Salt."),
        (
            "The user has two coaches, one for voice and one for running.",
            "The user parted ways with the running coach.",
            "The user has a coach for voice.",
        ),
    ],
)
def test_what_is_left_is_a_sentence_of_its_own(content: str, said: str, left: str) -> None:
    assert find_left(content, Statement(text=said, vector=embed(said)), taken=[said]) == [left]


@pytest.mark.parametrize(
    "piece", ["a cat and ", "on Mondays ", "two cats, ", "Tom and ", "are the ", "the user has ", "and, in a, "]
)
def test_long_runs_are_read_quickly(piece: str) -> None:
    started = time.process_time()
    list_facts(f"The user has {piece * (4_000 // len(piece))}x.")
    assert time.process_time() - started < 1
