"""`python -m exora_reader --port N --folder F`: the reader as a process of its own."""

from backstay_parts.model.server import serve_reader
from exora_reader.tasks import read

if __name__ == "__main__":
    serve_reader(read, name="exora-reader-by-rule")
