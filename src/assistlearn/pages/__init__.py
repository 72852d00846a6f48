"""Pages for people: the facts of a run as a view, and the view as HTML that loads nothing from outside."""
