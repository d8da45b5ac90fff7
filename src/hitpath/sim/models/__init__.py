"""Models of the real engines' cache managers; docs/exactness.md says how exact each is."""
