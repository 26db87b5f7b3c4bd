"""The operations of the API, a file a noun: each is one method of the client, as the caller may use it."""
