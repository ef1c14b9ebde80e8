"""Test questions in the rows of a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T

from .. import Questions
from . import _columns
from ._work import check_workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from .. import Params

#: What is known of the question that a row contains: fields of :class:`nearkin.QuestionFound`.
EVIDENCE = ("question", "words", "shared", "longest", "word", "passage", "questions")


def marked(
    df: DataFrame,
    questions: Iterable[str | None],
    params: Params | None,
    text: str,
    share: float,
    words: int,
    column: str,
) -> DataFrame:
    """``df`` with another column: the question that each row contains, or null."""
    texts = list(questions)
    # Checked here, not in the first task.
    Questions(texts, share=share, words=words, params=params)
    _columns.field(df, text)
    if column in df.columns:
        raise ValueError(f"there is a column {column!r} already: column= names another one")
    check_workers(df.sparkSession)
    of = {name: T.StringType() if name == "passage" else T.LongType() for name in EVIDENCE}
    kind = T.StructType([T.StructField(name, one) for name, one in of.items()])
    schema = T.StructType([*df.schema.fields, T.StructField(column, kind)])

    def find(batches: Iterable[Any]) -> Iterator[Any]:
        asked = Questions(texts, share=share, words=words, params=params)
        for batch in _columns.small_batches(batches):
            found = asked.find(batch.column(text), threads=1)
            rows = [one and {name: getattr(one, name) for name in EVIDENCE} for one in found]
            types = [(name, pa.string() if name == "passage" else pa.int64()) for name in EVIDENCE]
            told = pa.array(rows, pa.struct(types))
            names = [*batch.schema.names, column]
            yield pa.RecordBatch.from_arrays([*batch.columns, told], names=names)

    result: DataFrame = df.mapInArrow(find, schema)
    return result


def cleaned(df: DataFrame, questions: Iterable[str | None], params: Params, text: str) -> DataFrame:
    """The rows of ``df`` that contain no question."""
    found = marked(df, questions, params, text, 0.6, 12, "nearkin_question")
    return found.where(found["nearkin_question"].isNull()).drop("nearkin_question")
