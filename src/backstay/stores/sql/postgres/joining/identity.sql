-- Which database of which running server this is. The server's start tells apart even a copy restored elsewhere, which
-- shares name, oid and system identifier, and every role may read it.
SELECT
    this.datname AS name,
    CAST(this.oid AS bigint) AS oid,
    CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) * 1000000 AS bigint) AS started,
    COALESCE(host(inet_server_addr()), 'local socket') AS address,
    current_setting('port') AS port
FROM pg_database AS this
WHERE this.datname = current_database()
