"""What can be done when an arm's samples are not diverse enough: one answer a file."""
