"""From a file of unknown form to rows that are checked."""
