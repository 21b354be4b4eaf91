"""The version of the package, which is that of the API."""

__version__ = "1.2.0"
USER_AGENT = f"drover-python/{__version__}"
