"""Pages for people: what a run says of itself, as a view model and as HTML that needs nothing from outside."""
