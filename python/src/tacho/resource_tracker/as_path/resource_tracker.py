"""The name resource_tracker, for processes whose path as_upstream made."""
from tacho.resource_tracker import install

install(force=True)
