"""One module per lock library. ``LOCKS`` in each lists its adapters."""
