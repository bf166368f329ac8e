"""Taking memories along and bringing them in (M4): files of memory objects, every status, nothing lost on the way."""
