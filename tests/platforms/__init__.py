"""What can be shown on Linux of how the core works on macOS and Windows."""
