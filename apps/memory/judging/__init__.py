"""Judging: how a new statement stands to what is remembered (SPEC A3). No model is called here."""
