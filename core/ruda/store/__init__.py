"""Files of tensors: opening, filtering, remapping, adapting, comparing, loading and saving."""
