"""Where everything is kept: tables, migrations, and one module for each noun; PostgreSQL and SQLite."""
