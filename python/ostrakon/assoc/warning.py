"""The one warning of this room."""


class AssocWarning(UserWarning):
    """Texts were taken as ones because the other side holds numbers."""
