"""Parse blocks of LETOR lines with the compiled library."""

from __future__ import annotations

from boostrank.core.compiled.lines import letor_lines
from boostrank.datasets.letor_format import ReadOptions
from boostrank.datasets.parsed_file import ParsedBlock, RefusedBlockError, as_type, sort_columns


def parse_compiled(block: bytes, options: ReadOptions) -> ParsedBlock:
    """Parse complete lines; raise RefusedBlockError if a line is invalid."""
    lines = letor_lines(block, 0 if options.zero_based else 1, options.max_index)
    if lines is None:
        raise RefusedBlockError
    labels, sizes, columns, values = lines[:4]
    for place, start, end in lines.slow.tolist():
        number = float(block[start:end])
        if place < 0:
            labels[-1 - place] = number
        else:
            values[place] = number
    data = as_type(values, options.dtype)
    if not lines.is_sorted:
        columns, data = sort_columns(sizes, columns, data)
    width = None if lines.regular_width < 0 else lines.regular_width
    qid_runs = [(block[start:end], count) for start, end, count in lines.runs.tolist()]
    comments: list[str] = []
    if options.comments:
        texts = [block[start:end].strip() for start, end in lines.comments.tolist()]
        comments = [text.decode(errors="backslashreplace") for text in texts]
    return ParsedBlock(labels, sizes, columns, data, width, lines.has_qid, qid_runs, comments, lines.n_lines)
