"""Key information of a case that several agents share (X1–X3)."""
