"""What people read outside the lake: report, release, data dictionary."""
