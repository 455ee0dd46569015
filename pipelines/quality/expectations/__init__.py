"""Custom expectations for what this field needs."""
