"""What a hit is worth: shapes of models, hardware, the two paths, break-evens, money."""
