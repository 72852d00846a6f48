"""What releases disclose: how well somebody guesses a column, a label or a membership from what was said of samples.

Arrays in, figures out: it knows no run, no message and no file. Whoever has a transcript turns it into numbers
(:mod:`~assistlearn.disclosure.said`), and asks how well an attacker with some known values guesses the others
(:mod:`~assistlearn.disclosure.attribute_inference`), beside a guess without the transcript.
"""
