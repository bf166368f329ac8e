"""How long the pages of the panel take for somebody with a hundred thousand memories, and with how many queries."""
