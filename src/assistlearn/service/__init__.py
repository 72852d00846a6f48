"""What answers at an agent: the service, what it keeps on disk, and one exchange per file."""
