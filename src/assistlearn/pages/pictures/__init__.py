"""The pictures of a page. Matplotlib draws them as SVG, with texts that can be selected and in the page's colours."""
