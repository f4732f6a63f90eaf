"""Step S9: the prompt made of the selected documents, translation, and what an answer's sentences rest on."""
