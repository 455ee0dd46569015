"""The outside world to raw tables: archives, folders and sockets. What the bytes mean does not belong here."""
