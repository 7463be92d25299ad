"""Small widgets that know nothing of documents: they are given values and draw them."""
