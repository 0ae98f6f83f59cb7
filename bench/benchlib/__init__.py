"""bench/benchlib: what tools/bench is made of."""
