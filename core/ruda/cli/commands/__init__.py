"""One module per command of ``ruda``; each imports what it needs when it is called."""
