"""People of a practice, drawn by a seed: some of one family, who share a name, an address and a Medicare number."""

import random
from dataclasses import dataclass
from datetime import date

_FEMALE = [
    "Margaret",
    "Anne",
    "Helen",
    "Ruth",
    "Aisha",
    "Mei",
    "Priya",
    "Sofia",
    "Grace",
    "Chloe",
    "Amelia",
    "Zoe",
    "Harriet",
    "Fatima",
    "Elena",
    "Joan",
]
_MALE = [
    "William",
    "Peter",
    "Ahmed",
    "Liam",
    "Oscar",
    "Rajesh",
    "Thomas",
    "George",
    "Hugo",
    "Daniel",
    "Minh",
    "Patrick",
    "Noah",
    "Samuel",
    "Viktor",
    "Alan",
]
_FAMILY = [
    "O'Neill",
    "Nguyen",
    "Patel",
    "Williams",
    "Papadopoulos",
    "Kowalski",
    "Chen",
    "MacDonald",
    "Rossi",
    "Jackson",
    "Haddad",
    "Fitzgerald",
    "Singh",
    "Taylor",
    "Andersen",
    "Brown",
    "Robertson",
    "Moreau",
    "Khan",
    "Whitfield",
]
_STREETS = [
    "Harbour",
    "Rose",
    "Wattle",
    "Station",
    "Church",
    "Victoria",
    "King",
    "Banksia",
    "Mill",
    "Bridge",
    "Albert",
    "Kent",
    "Queen",
]
_TYPES = ["Street", "Road", "Avenue", "Drive", "Court", "Crescent", "Parade", "Lane"]
_PLACES = [
    ("Brunswick", "VIC", "3056"),
    ("Newtown", "NSW", "2042"),
    ("Geelong", "VIC", "3220"),
    ("Paddington", "QLD", "4064"),
    ("Norwood", "SA", "5067"),
    ("Fremantle", "WA", "6160"),
    ("Hobart", "TAS", "7000"),
]


@dataclass(frozen=True, slots=True)
class Person:
    """A patient of the practice."""

    given_names: str
    family_name: str
    date_of_birth: date
    gender: str
    address: str
    record_number: str
    ihi: str
    medicare: str


def draw_person(chance: random.Random) -> Person:
    """Somebody; the same chance gives the same person."""
    gender = chance.choice(["female", "male"])
    names = _FEMALE if gender == "female" else _MALE
    first, second = chance.sample(names, 2)
    born = date(chance.randint(1932, 2018), chance.randint(1, 12), chance.randint(1, 28))
    return Person(
        first if chance.random() < 0.5 else f"{first} {second}",
        chance.choice(_FAMILY),
        born,
        gender,
        _address(chance),
        f"{chance.choice(['', 'H', 'RB'])}{chance.randint(100000, 9999999)}",
        with_luhn("800360" + "".join(str(chance.randint(0, 9)) for _ in range(9))),
        _medicare(chance),
    )


def draw_relative(person: Person, chance: random.Random) -> Person:
    """Somebody of the same family: same name, address and Medicare number, another birthday and record."""
    other = draw_person(chance)
    while other.given_names.split()[0] == person.given_names.split()[0]:
        other = draw_person(chance)
    return Person(
        other.given_names,
        person.family_name,
        other.date_of_birth,
        other.gender,
        person.address,
        other.record_number,
        other.ihi,
        person.medicare,
    )


def draw_practice(seed: int, *, count: int = 5) -> list[Person]:
    """A practice's patients, no two with the same name; the first two are of one family."""
    chance = random.Random(seed)  # noqa: S311 - repeatable fixtures, no secret
    people = [draw_person(chance)]
    people.append(draw_relative(people[0], chance))
    while len(people) < count:
        person = draw_person(chance)
        taken = {(other.given_names.split()[0], other.family_name) for other in people}
        if (person.given_names.split()[0], person.family_name) not in taken:
            people.append(person)
    return people


def with_luhn(digits: str) -> str:
    """The digits and their check digit."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 if place % 2 else 2)
        total += value - 9 if value > 9 else value
    return digits + str((10 - total % 10) % 10)


def _address(chance: random.Random) -> str:
    suburb, state, postcode = chance.choice(_PLACES)
    unit = f"{chance.randint(1, 20)}/" if chance.random() < 0.25 else ""
    street = f"{chance.choice(_STREETS)} {chance.choice(_TYPES)}"
    return f"{unit}{chance.randint(1, 240)} {street}, {suburb} {state} {postcode}"


def _medicare(chance: random.Random) -> str:
    digits = [chance.randint(2, 6), *(chance.randint(0, 9) for _ in range(7))]
    check = sum(digit * weight for digit, weight in zip(digits, (1, 3, 7, 9, 1, 3, 7, 9), strict=True)) % 10
    return "".join(map(str, digits)) + f"{check}1"
