"""What `recompute.py` knows of the figures of a result, a subject a file."""
