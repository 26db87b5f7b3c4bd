"""The proof under real faults: programs that break things, and a checker that believes none of them."""
