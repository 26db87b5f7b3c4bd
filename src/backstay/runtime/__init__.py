"""Clock, chance, sleep and ids: the only door to them."""
