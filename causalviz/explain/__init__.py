"""Exact answers to every question about a rank; all are pure functions of a Trace and its RankSettings.

Start with ``states.tau_states``; the tau path, the (tau, alpha) map and the flip points are read off its result.
"""
