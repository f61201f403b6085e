"""Which point to try next: Optuna samplers, and the loop of a campaign."""
