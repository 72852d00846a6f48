"""The paper's method on one page, and the paper's experiments."""
