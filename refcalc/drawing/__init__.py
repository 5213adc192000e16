"""Pictures of results as SVG text.

    ladder        models as bars from zero, the worst on top
    error_bars    means with how far they may be off
    token_text    a document with the nll of every token behind it

A picture is one <svg> element, complete in itself: no script, no font, no file beside it.  It follows the light or dark
setting of whoever looks at it, and <desc> says it in words for those who listen.
"""

__all__ = ["error_bars", "ladder", "token_text"]

from refcalc.drawing.charts import error_bars, ladder
from refcalc.drawing.tokens import token_text
