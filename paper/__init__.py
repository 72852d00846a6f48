"""The paper's method and experiments: data sets, figures, and a check of its claims. It is no part of the package.

``python -m paper fig3c`` runs a figure again; ``python -m paper.demo`` shows three agents on real data.
"""
