"""Makes exhibits: all that a reader may be shown of a survey's results, whatever page, file or
notebook shows it.

Each module ``*_exhibit`` turns one type of result document into an ``Exhibit``. Pages, CSV files,
figures for papers and notebooks are then made from that exhibit alone.
"""
