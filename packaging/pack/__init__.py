"""What scripts/package is made of: one file a kind of package. The standard library alone."""
