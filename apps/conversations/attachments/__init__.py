"""Files that people attach to a message: their text is kept and shown to the model, and is no memory by itself."""
