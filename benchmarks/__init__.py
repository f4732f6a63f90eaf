"""Timings and measurements; `make bench` runs the timings."""
