"""The pages before one is logged in."""
