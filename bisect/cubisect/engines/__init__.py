"""Where trials run: lanes of this machine, or a Ray cluster."""
