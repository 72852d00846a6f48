"""What releases disclose: how well an attacker guesses a column, a label or a membership from what was released.

The functions take arrays and return figures: they know no run, no message and no file. First turn a transcript into
numbers (:mod:`~assistlearn.disclosure.said`). Then measure how well an attacker who knows some values guesses the
others (:mod:`~assistlearn.disclosure.attribute_inference`), compared with a guess without the transcript.
"""
