"""What further doors write."""
