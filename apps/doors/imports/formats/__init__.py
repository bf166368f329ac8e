"""Readers of files from elsewhere. Pure: a file in, plain values out, what cannot be read told item by item."""
