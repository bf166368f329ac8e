"""Finding the memories that matter for a message. docs/retrieval.md tells how."""
