"""Moments, noise and the test: what sums over rows say about a polynomial whose columns all have noise."""
