"""What the commands print and how: tables, progress, messages. What they do is done by the rooms below."""
