"""What live sessions keep in mind, and the digests of what was deleted."""
