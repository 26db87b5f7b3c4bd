"""The one command that has all others: `manage.py backstay …`."""
