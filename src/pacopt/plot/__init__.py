"""Charts of Altair, which a notebook shows: what was learned, what is certified, and what was measured beside it.

Each takes what `learn` returned; those that need no test split also take a certificate with its table. What is drawn as
certified is certified, and the words on a chart say what was only measured. Altair is imported when the first one is
drawn. With one of Altair's dark themes, `alt.theme.enable("dark")`, they are dark too.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
