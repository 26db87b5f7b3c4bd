"""Which numbers can be numbers of their kind?"""


def is_ihi(digits: str) -> bool:
    """True for sixteen digits of an Individual Healthcare Identifier with their check digit."""
    return len(digits) == 16 and digits.isdecimal() and digits.startswith("800360") and has_luhn_digit(digits)


def is_medicare(digits: str) -> bool:
    """True for ten digits of a Medicare card with their check digit."""
    if len(digits) != 10 or not digits.isdecimal() or digits[0] not in "23456":
        return False
    weights = (1, 3, 7, 9, 1, 3, 7, 9)
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False)) % 10 == int(
        digits[8]
    )


def is_provider_number(digits: str) -> bool:
    """True for sixteen digits of a Healthcare Provider Identifier with their check digit."""
    return len(digits) == 16 and digits.isdecimal() and digits.startswith("800361") and has_luhn_digit(digits)


def has_luhn_digit(digits: str) -> bool:
    """True if the last digit is the Luhn check digit of those before it."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
