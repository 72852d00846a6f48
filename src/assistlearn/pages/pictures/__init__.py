"""The pictures of a page, drawn by matplotlib as SVG whose texts are texts and whose colours follow the page."""
