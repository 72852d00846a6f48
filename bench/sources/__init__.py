"""The same table from files, a database, an object store and a web server: time, memory, and whether it is the same."""
