"""Draws the pictures of docs/notebooks.md, from the code of the page: python docs/images/notebooks.py."""

import os
import re
import tempfile
from pathlib import Path

import altair as alt
from PIL import Image
from playwright.sync_api import sync_playwright

from pacopt import plot

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 14px/1.45 system-ui, 'Liberation Sans', sans-serif; margin: 0; padding: 14px 18px; width: 940px }}
table {{ font-size: 12px }}
</style><body>{}</body>"""


def main():
    here = Path(__file__).parent
    first = re.search(r"^```python\n(.*?)^```", (here.parent / "notebooks.md").read_text(), re.M | re.S)[1]
    page = {}
    exec(first, page)
    learned = page["learned"]
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 980, "height": 400}, device_scale_factor=1.5)
        with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
            file.write(PAGE.format(learned._repr_html_()))
            file.flush()
            tab.goto(f"file://{file.name}")
            tab.locator("body").screenshot(path=here / "notebook_learned.png")
        browser.close()
    plot.convergence(learned).save(here / "notebook_convergence.png", scale_factor=1.5)
    plot.profile(learned).save(here / "notebook_profile.png", scale_factor=1.5)
    with alt.theme.enable("dark"):
        plot.losses(learned).save(here / "notebook_dark.png", scale_factor=1.5)
    for path in here.glob("notebook_*.png"):  # a tenth of the bytes
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
