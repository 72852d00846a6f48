"""The paper's experiments: settings, seeded replications, results, pictures, and what became of its claims."""
