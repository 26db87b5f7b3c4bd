"""Old jobs go to a folder or a bucket before they are removed, and can come back."""
