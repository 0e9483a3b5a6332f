"""Searches of records, which read the degree table first.

A term is a column `field|value`, or a range or wildcard of them (`age|3*`), which means any of its
columns. Because the number of occurrences of each term is known first, only the rarest term is
read, and the others are checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostrakon.assoc import Assoc
from ostrakon.assoc.items import split_delimited
from ostrakon.assoc.selectors import Selector, token_ranges
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.selection import Selection, select, texts_of
from ostrakon.d4m.table import AssocTable
from ostrakon.errors import InvalidArgumentError

# A term is checked record by record when its rows hold so many times more records than are left.
_CHECK = 16


class Search:
    """The queries of `Records`."""

    __slots__ = ("degree_table", "field_table", "pair", "separator", "text_table")
    pair: AssocPair
    degree_table: AssocTable

    def degrees(self, columns: Any = slice(None)) -> Assoc:
        """How often columns `field|value` occur: keys, ranges, wildcards."""
        return self.degree_table[columns, "Degree"]

    def count(self, term: Any) -> int:
        """The number of entries of a term."""
        return int(self.degrees(term).sum() or 0)

    def find(
        self,
        all_of: Any = (),
        any_of: Any = (),
        none_of: Any = (),
        *,
        limit: int = 1_000_000,
    ) -> list[str]:
        """The ids of the records that have all terms of `all_of`, at least one of `any_of` if there
        are any, and none of `none_of`; sorted.

        Terms are a delimiter string (in which each range or wildcard is a term) or a list. The
        degree table is read first: the search ends if a required term does not occur; otherwise
        the rarest is read, and the others are checked against it. It is an error if more than
        `limit` entries would be read; the message has the number.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     R = db.records()
        ...     people = {"town": ["Ulm", "Ulm", "Bonn"], "age": [31, 42, 38]}
        ...     _ = R.ingest(people, id=["a", "b", "c"])
        ...     R.find("town|Ulm,age|3*,"), R.find(any_of="age|42,town|Bonn,", none_of="age|38,")
        (['a'], ['b'])
        """
        must = _terms(all_of, "all_of")
        may = _terms(any_of, "any_of")
        never = _terms(none_of, "none_of")
        if not must and not may:
            raise InvalidArgumentError(
                "all_of and any_of: at least one term is needed", {"argument": "all_of"}
            )
        if limit < 1:
            raise InvalidArgumentError("`limit` is below 1", {"argument": "limit"})
        known = self._entries([*must, *may, *never])
        # Each group holds the terms of which one must be there, and how many entries that means.
        groups = [([term], known[term]) for term in must]
        if may:
            groups.append((may, sum(known[term] for term in may)))
        groups.sort(key=lambda group: group[1])
        if groups[0][1] == 0:
            return []
        terms, count = groups[0]
        if count > limit:
            raise InvalidArgumentError(
                f"limit: the rarest term has {count} entries, {limit} may be read; add a rarer "
                "term, or raise `limit`",
                {"argument": "limit", "entries": str(count)},
            )
        found = self._records(terms)
        for terms, count in groups[1:]:
            if not found:
                return []
            found = found & self._those(found, terms, count)
        for term in never:
            if not found:
                return []
            if known[term]:
                found = found - self._those(found, [term], known[term])
        return sorted(found)

    def where(
        self, all_of: Any = (), any_of: Any = (), none_of: Any = (), *, limit: int = 1_000_000
    ) -> Assoc:
        """The records that `find` finds, with all their columns, as an array."""
        found = self.find(all_of, any_of, none_of, limit=limit)
        return self.pair[found, :] if found else Assoc()

    def _entries(self, terms: list[Selection]) -> dict[Selection, int]:
        """How many entries each term has; those that are one column are asked for together."""
        column = Selection(keys=("Degree",))
        single = [term for term in terms if term.exact and len(term.keys) == 1]
        together = Selection(keys=tuple(sorted({term.keys[0] for term in single})))
        degrees = self.degree_table._read(together, column)
        counts = {term: int(degrees.get(term.keys[0], "Degree", 0)) for term in single}
        for term in terms:
            if term not in counts:
                counts[term] = int(self.degree_table._read(term, column).sum() or 0)
        return counts

    def _records(self, terms: list[Selection]) -> set[str]:
        transpose = self.pair.transpose
        found: set[str] = set()
        for term in terms:
            array = transpose._read(term, Selection(everything=True))
            found.update(array.col.tolist())
        return found

    def _those(self, found: set[str], terms: list[Selection], count: int) -> set[str]:
        """The records among `found` that have one of the terms."""
        if count <= _CHECK * len(found):
            return found & self._records(terms)
        # Many records have the term, few are left: look each of them up.
        rows = select(np.array(sorted(found), dtype=object), "row")
        kept: set[str] = set()
        for term in terms:
            kept.update(self.pair.main._read(rows, term).row.tolist())
        return kept


def _terms(given: Any, name: str) -> list[Selection]:
    """Each term of its own. Only a delimiter string has ranges and wildcards; items of a list are
    keys."""
    if isinstance(given, str):
        tokens = token_ranges(split_delimited(given)) if given else []
        return [
            Selection(between=(token,))
            if isinstance(token, tuple)
            # A text that ends in a delimiter is read as such, whatever is in it.
            else select(f"{token}\0" if "*" in token else [token], name)
            for token in tokens
        ]
    if isinstance(given, (Selector, slice)):
        return [select(given, name)]
    listed = [given] if isinstance(given, bytes) else given
    return [
        select(term, name) if isinstance(term, (Selector, slice)) else select(texts_of(term), name)
        for term in listed
    ]
