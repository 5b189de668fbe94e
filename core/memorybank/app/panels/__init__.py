"""The parts of the page. Each asks ``views`` what to show and the bank what to do; none knows anything itself."""
