"""What can go wrong while the demo or the tests get their servers."""


class DemoError(Exception):
    """One sentence that says what is wrong, and one that says what to do about it."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
