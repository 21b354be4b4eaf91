"""The asynchronous client. `generate` makes the synchronous one, in `_sync`, from these files."""
