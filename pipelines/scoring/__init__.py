"""The official rules of scoring: which runs count, what a result scores. No model, no opinion."""
