"""What Eightfold can be shown with; each folder stands alone."""
