"""What the theorems promise for one problem: a table, its meaning in words, and curves."""
