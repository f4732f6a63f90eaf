"""CausalViz: see, question and tune why a retriever ranks what it ranks."""
