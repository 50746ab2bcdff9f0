"""The version of this package, which is the daemon's."""

__version__ = "0.1.0"
