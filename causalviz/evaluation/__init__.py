"""How well a ranking does: themes files, measures, diagnostics."""
