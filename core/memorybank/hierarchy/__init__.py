"""The hierarchy: what days, and all days together, amount to; the window; working memory."""
