"""The warning of this package."""


class AssocWarning(UserWarning):
    """Texts were treated as ones because the other array holds numbers."""
