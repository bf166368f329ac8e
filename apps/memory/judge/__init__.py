"""Judging: how a new statement stands to what is remembered (A3). No model is called here."""
