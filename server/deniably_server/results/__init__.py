"""What the reports say: figures, sentences, pictures. No request, no store, no Flask."""
