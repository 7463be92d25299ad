"""What a Tensor can do, in rooms by kind; ``ruda.tensor.Tensor`` inherits them all."""
