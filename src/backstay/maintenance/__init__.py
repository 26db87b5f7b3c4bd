"""What keeps the whole going: done by one worker at a time, the leader."""
