"""Event types: log files as events, and questions about them."""

from ostrakon.events.arguments import When
from ostrakon.events.event_type import Events
from ostrakon.events.query import EventQuery
from ostrakon.events.results import (
    Calibration,
    Disagreement,
    EventCheck,
    EventField,
    EventIngest,
    EventPage,
    EventRepair,
)

__all__ = [
    "Calibration",
    "Disagreement",
    "EventCheck",
    "EventField",
    "EventIngest",
    "EventPage",
    "EventQuery",
    "EventRepair",
    "Events",
    "When",
]
