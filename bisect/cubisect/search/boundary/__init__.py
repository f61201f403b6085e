"""The search that maps failure regions: numpy, SciPy and scikit-learn only, without Optuna."""
