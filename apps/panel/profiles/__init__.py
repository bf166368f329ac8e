"""The profile document: a page to read and edit, what the machine proposes for it, and its versions."""
