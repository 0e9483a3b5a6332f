"""Machines that build and test at once are slow now and then: no deadline for made-up cases."""

from hypothesis import settings

settings.register_profile("assoc", deadline=None, max_examples=40)
settings.load_profile("assoc")
