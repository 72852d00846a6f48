"""Some forty runs whose outcomes were written down, to hold changes of the design to them."""
