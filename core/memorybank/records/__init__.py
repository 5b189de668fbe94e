"""The records: SQL, the system of record. Every statement of the project lives in this package."""
