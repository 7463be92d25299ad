"""Training state: weights, optimizer, scheduler and position, saved and restored together."""
