"""Vectors: how many there are of which model, how far a change of models is, and search by meaning. Never a vector."""
