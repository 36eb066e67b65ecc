"""Keys of files that know where they stand, for messages."""


class Key(str):
    """A key of a TOML file, which knows where it stands there: `plan.toml:3:1`."""

    __slots__ = ("place",)
    place: str


def placed(text: str, place: str) -> Key:
    """A key that stands at this place."""
    key = Key(text)
    key.place = place
    return key


def renamed(name: str, text: str) -> str:
    """Another text for a name, at the place of the name."""
    return placed(text, name.place) if isinstance(name, Key) else text


def said_at(where: str, name: object) -> str:
    """How a message about a name begins: as `where` says, with the place of a key instead of its file or folder."""
    if not isinstance(name, Key):
        return where
    file, (head, _, rest) = name.place.rsplit(":", 2)[0], where.partition(": ")
    if not file.startswith(head):
        rest = where
    return f"{name.place}: {rest}" if rest else name.place
