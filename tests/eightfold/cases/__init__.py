"""Tests of the makers of cases."""
