"""The screens that pictures are taken of: each brings a fresh window into one state."""
