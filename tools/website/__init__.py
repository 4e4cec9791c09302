"""What the documentation site needs beyond Sphinx: mathematics, pages from elsewhere, and checks of the result."""
