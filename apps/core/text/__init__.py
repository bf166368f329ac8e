"""Chinese and English text: cleaning, folding, words, keywords, index terms. Pure functions, no Django."""
