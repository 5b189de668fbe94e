"""What can be read off a text without a model: its terms, its language and the days it names."""
