"""Two trees over the entries of a register (SPEC 10.1): a log of all entries, and a map of names.

A device fetches a few hashes of the trees, not the entries. The log commits to every entry and its
place. Its shape is that of RFC 9162, section 2.1. The map has the ``published`` entry of each
survey under the survey's name, so a name has one entry or none.

All hashes are 64 hexadecimal digits. The hash of a node is the digest of a JSON list (of its two
children), that of an entry the digest of a JSON object, so neither can pass for the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from deniably.core.canonical import digest
from deniably.core.errors import BadRegister
from deniably.trust.register import NOTHING

BLOCK = 64
"""The number of entries of a block, a complete subtree of the log."""

_DEPTH = BLOCK.bit_length() - 1


def node(left: str, right: str) -> str:
    """Returns the hash of a node: the digest of the JSON list of its two children."""
    return hashlib.sha256(f'["{left}","{right}"]'.encode()).hexdigest()


def root(nodes: Sequence[str]) -> str:
    """Returns the root of a hash tree over these hashes, in their order.

    Neighbours are joined in pairs, level by level.
    """
    level = list(nodes)
    while len(level) > 1:
        pairs = [node(*pair) for pair in zip(level[::2], level[1::2], strict=False)]
        # A last node without a neighbour rises as it is; hashing it with itself would let two lists
        # of entries have one root.
        level = pairs + level[2 * len(pairs) :]
    return level[0] if level else NOTHING


def log_root(blocks: Sequence[str], rest: Sequence[str]) -> str:
    """Returns the root of a log, given the roots of its complete ``blocks`` and the hashes of the
    entries after them (``rest``)."""
    # A block is a complete subtree, so the tree over the roots of blocks is the top of the whole
    # tree.
    return root([*blocks, root(rest)] if rest else blocks)


def folded(hash_: str, path: Sequence[str], sides: str) -> str:
    """Returns the root of a tree, given the hash of a leaf and its path.

    ``path`` has the siblings of the nodes on the way from the root down to the leaf. ``sides`` has
    a digit for each of them, 1 where the node on the way is the right child, 0 where it is the left
    one. Further digits of ``sides`` are ignored.
    """
    for sibling, side in reversed(list(zip(path, sides, strict=False))):
        hash_ = node(sibling, hash_) if side == "1" else node(hash_, sibling)
    return hash_


def block_sides(number: int) -> str:
    """Returns the way from the root of a block to entry ``number``: a digit for each level, 1 for
    the right child, 0 for the left one."""
    return f"{(number - 1) % BLOCK:0{_DEPTH}b}"


def name_sides(name: str) -> str:
    """Returns the way from the root of the map to a survey's name: 256 digits, 1 for the right
    child, 0 for the left one."""
    # The digest spreads names evenly, so that the paths of n surveys are about log2(n) long.
    return f"{int(digest(name), 16):0256b}"


class Trees:
    """The hash trees of a register, to which entries are added.

    One tree is the log of all entries, in blocks of 64; the other is the map of the names of
    surveys. ``hashes`` are those of all entries, ``blocks`` the roots of the complete blocks.
    """

    def __init__(self) -> None:
        self.hashes: list[str] = []
        self.blocks: list[str] = []
        self._map = _Fork()

    def add(self, hash_: str, published: str | None) -> None:
        """Adds an entry by its hash.

        ``published`` is the name of the survey that the entry publishes, None for other entries.
        Raises BadRegister, and adds nothing, for a name that is in the map already.
        """
        # The map may refuse the name, so it comes first: either both trees get the entry or none.
        if published is not None:
            self._map.add(name_sides(published), hash_)
        self.hashes.append(hash_)
        if len(self.hashes) % BLOCK == 0:
            self.blocks.append(root(self.hashes[-BLOCK:]))

    @property
    def log(self) -> str:
        """The root of the log of all entries."""
        return log_root(self.blocks, self.hashes[BLOCK * len(self.blocks) :])

    @property
    def map(self) -> str:
        """The root of the map of names."""
        return self._map.alone or self._map.root

    @property
    def recent(self) -> list[str]:
        """The hashes of the entries of the last complete block, and of those after it."""
        return self.hashes[first_recent(len(self.hashes)) :]

    def log_path(self, number: int) -> list[str]:
        """Returns the siblings on the way from the root of an entry's block to the entry.

        The list is empty for a recent entry.
        """
        if number > first_recent(len(self.hashes)):
            return []
        level = self.hashes[(number - 1) // BLOCK * BLOCK :][:BLOCK]
        path: list[str] = []
        at = (number - 1) % BLOCK
        while len(level) > 1:
            path.append(level[at ^ 1])  # the neighbour: its number differs in the last bit
            level, at = [node(*pair) for pair in zip(level[::2], level[1::2], strict=True)], at // 2
        return path[::-1]

    def map_path(self, name: str) -> list[str]:
        """Returns the siblings on the way from the root of the map to the entry of a survey.

        If the map has no such name, the way leads to where the entry would be.
        """
        return [] if self._map.alone else list(self._map.siblings(name_sides(name)))


def first_recent(count: int) -> int:
    """Returns how many of ``count`` entries come before the recent ones.

    The recent entries are those of the last complete block, and those after it.
    """
    return BLOCK * max(0, count // BLOCK - 1)


def trees_of(entries: Iterable[tuple[str, str | None]]) -> Trees:
    """Returns the trees over ``entries``, each given as (hash, name of the survey that it publishes
    or None).

    Raises BadRegister where a name is published twice.
    """
    trees = Trees()
    for entry in entries:
        trees.add(*entry)
    return trees


class _Leaf:
    """The hash of a survey's entry, and the whole way to its name."""

    __slots__ = ("root", "sides")

    def __init__(self, sides: str, root: str) -> None:
        self.sides, self.root = sides, root


class _Fork:
    """A place of the map with two parts below. It keeps its hash until something is added."""

    __slots__ = ("_below", "_root")

    def __init__(self) -> None:
        self._below: list[_Leaf | _Fork | None] = [None, None]
        self._root: str | None = None

    @property
    def root(self) -> str:
        # An entry changes the hashes on its own way alone; all other forks keep theirs.
        if self._root is None:
            self._root = node(*(below.root if below else NOTHING for below in self._below))
        return self._root

    @property
    def alone(self) -> str | None:
        """The root of a map that has one survey or none, whose entry is at the very top."""
        left, right = self._below
        if isinstance(left, _Fork) or isinstance(right, _Fork) or (left and right):
            return None
        only = left or right
        return only.root if only else NOTHING

    def add(self, sides: str, hash_: str) -> None:
        """Add an entry below. Raises BadRegister where the name has one."""
        way = sides.encode()  # its bytes are 48 and 49, quicker to look at than texts
        fork, depth = self, 0
        fork._root = None  # every fork on the way gets another hash
        while isinstance(below := fork._below[way[depth] & 1], _Fork):
            fork, depth = below, depth + 1
            fork._root = None
        if below is not None:
            if below.sides == sides:
                raise BadRegister("the register lists two surveys of one name")
            # Two names share the start of their ways: forks go down to where they part.
            while way[depth] & 1 == int(below.sides[depth]):
                lower = _Fork()
                fork._below[way[depth] & 1] = lower
                fork, depth = lower, depth + 1
            fork._below[int(below.sides[depth])] = below
        fork._below[way[depth] & 1] = _Leaf(sides, hash_)

    def siblings(self, sides: str) -> Iterable[str]:
        """The hashes beside the way to a name, from the top down."""
        below: _Fork | _Leaf | None = self
        for side in map(int, sides):
            if not isinstance(below, _Fork):
                return
            other = below._below[1 - side]
            yield other.root if other else NOTHING
            below = below._below[side]
