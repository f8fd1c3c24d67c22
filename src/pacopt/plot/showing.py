"""How a notebook shows a chart: as a picture, in the place of which a chart with tooltips comes if there is a network.

Altair's own page fetches its JavaScript from a server, and shows an error where it cannot. With the picture beside it,
a chart is there without a network too, and in a notebook that runs no scripts. Whoever chooses a renderer of Altair's
(`alt.renderers.enable("svg")`) gets that one.
"""

from base64 import b64encode
from html import escape
from typing import Any, TypeVar
from uuid import uuid4

import altair as alt

#: Renderers of Altair that fetch JavaScript.
FETCHING = frozenset({"default", "html", "colab", "kaggle"})
#: Vega marks what it drew by a class: then the picture goes. Its error is no news to whoever sees the picture.
PAGE = """<div id="{place}">
<style>#{place}:has(> :not(img) .marks) > img, #{place} .error {{ display: none; }} #{place} > img {{ max-width: 100%; }}</style>
<img alt="{words}" src="data:image/svg+xml;base64,{picture}">
{chart}
</div>"""  # noqa: E501


Chart = TypeVar("Chart", bound=alt.LayerChart | alt.VConcatChart)


def pictured(chart: Chart) -> Chart:
    """The chart, which shows itself without a network too; it stays an ordinary chart of Altair's."""
    kind = PicturedLayers if isinstance(chart, alt.LayerChart) else PicturedColumn
    object.__setattr__(chart, "__class__", kind)  # Altair takes what is set for a part of the specification
    return chart


def _shown(chart: Any, usual: Any) -> Any:
    """What a notebook is given; `usual` is what Altair would give it."""
    found = usual()
    if alt.renderers.active not in FETCHING or "text/html" not in found:
        return found
    with alt.renderers.enable("svg"):
        picture = b64encode(usual()["image/svg+xml"].encode()).decode()
    title = getattr(chart.title, "text", "")
    words = escape(" ".join(title) if isinstance(title, list) else str(title))
    place = f"pacopt-{uuid4().hex[:12]}"
    return found | {"text/html": PAGE.format(place=place, words=words, picture=picture, chart=found["text/html"])}


class PicturedLayers(alt.LayerChart):
    """Layers with a picture of them."""

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return _shown(self, super()._repr_mimebundle_)


class PicturedColumn(alt.VConcatChart):
    """Charts below each other with a picture of them."""

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return _shown(self, super()._repr_mimebundle_)
