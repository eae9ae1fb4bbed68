"""Scenarios that real lock libraries go through, against the proxy and against
one plain redis-server. The caller has to see the same.

``locks`` has one adapter per library, ``scenarios`` says what is done with
them, ``world`` is what a scenario acts in, ``servers`` what it acts on, and
``__main__`` compares and prints.
"""
