"""tools/benchlib: what tools/bench is made of."""
