"""The demonstration: an embedded task, and what `regard demo` does with it."""
