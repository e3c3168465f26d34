"""Tests of running models."""
