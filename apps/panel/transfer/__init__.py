"""Import and export: taking memories along, and bringing them in once one has seen what that would do (M4)."""
