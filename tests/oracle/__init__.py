"""An interpreter of rankd plans, written from the specification alone, and what compares the engine with it."""
