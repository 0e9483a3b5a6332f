from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ostrakon.d4m import DB

if TYPE_CHECKING:
    from collections.abc import Iterator

    import ostrakon


@pytest.fixture
def db(store: ostrakon.Store) -> Iterator[DB]:
    with DB(store) as db:
        yield db
