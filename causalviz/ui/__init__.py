"""The web app: pure presenters, and thin Gradio pages in ui/pages."""
