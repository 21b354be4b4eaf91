"""The synchronous client, made by `generate` from `_async`. Only `_compat.py` is written by hand."""
