"""Text: lines of LETOR and TREC files, which are read in C, and tables that are printed."""
