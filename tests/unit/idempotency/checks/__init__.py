"""Every system check: seen to speak up, and to keep quiet."""
