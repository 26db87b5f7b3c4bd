"""The smallest whole application on Backstay: reminders that become letters, each exactly once."""
