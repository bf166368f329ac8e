"""How well memories are found: BEIR folders through the services and the retrieval that production uses."""
