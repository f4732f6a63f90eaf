"""Gradio pages: components and events, nothing else."""

from causalviz.ui.pages.app import serve

__all__ = ["serve"]
