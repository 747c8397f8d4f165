"""Files: where caches go, atomic writes, sealed data files, pictures."""
