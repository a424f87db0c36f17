"""What the chapters on SCAN draw in common."""
