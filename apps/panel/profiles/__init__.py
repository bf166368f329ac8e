"""The profile document: a page to read and edit, proposals from the assistant, and its versions."""
