"""Is it plausible? Great Expectations suites over published tables; structural rules live in the schemas."""
