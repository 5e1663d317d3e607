// Before anything is written: what the service writes, databases, locks and exports alike, is for its own account alone.
process.umask(0o077);
