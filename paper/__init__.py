"""The paper's experiments: settings, seeded replications, results, pictures, and a check of the paper's claims."""
