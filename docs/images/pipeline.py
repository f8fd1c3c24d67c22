"""Draws the picture of the pipeline, for wide and for narrow screens: python docs/images/pipeline.py

Boxes carry their own colours and the text between them is a middle grey, so that it can be read on white and on black.
"""

from pathlib import Path
from xml.sax.saxutils import escape

#: Data, what may use JAX, what is NumPy and SciPy alone.
DATA, TRACED, PLAIN, BETWEEN = "#4f5b66", "#0067a3", "#00705a", "#7d8790"
WIDTH, HEIGHT = 1058, 484
#: Columns and rows of boxes.
X = {"instances": 4, "split": 158, "first": 286, "second": 484, "third": 682, "fourth": 880}
Y = {"prior": 56, "train": 216, "test": 346}
TALL = 84


def box(x, y, width, height, colour, title, *lines):
    """A box with a title and lines below it."""
    middle = x + width / 2
    top = y + height / 2 - 9.5 * len(lines) + 6
    text = [f'<text x="{middle}" y="{top}" class="title">{escape(title)}</text>']
    text += [f'<text x="{middle}" y="{top + 19 * (k + 1)}">{escape(line)}</text>' for k, line in enumerate(lines)]
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" fill="{colour}"/>' + "".join(text)


def arrow(*points):
    """A line through the points with a head at the last one."""
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    return f'<path d="{path}" class="arrow" marker-end="url(#head)"/>'


def note(x, y, text, anchor="start"):
    """Words between the boxes."""
    return f'<text x="{x}" y="{y}" class="note" style="text-anchor: {anchor}">{escape(text)}</text>'


def wide_picture():
    """From left to right."""
    wide, middle = 174, {row: y + TALL / 2 for row, y in Y.items()}
    split_right, fork, below = X["split"] + 104, 141, X["third"] + wide / 2
    parts = [
        box(X["instances"], Y["train"], 120, TALL, DATA, "Instances", "one row,", "one problem"),
        *(box(X["split"], Y[row], 104, TALL, DATA, row, *lines) for row, lines in SPLIT.items()),
        box(X["first"], Y["prior"], wide, TALL, TRACED, "Search", "candidates tried", "on the prior part"),
        box(X["second"], Y["prior"], wide, TALL, PLAIN, "Design", "candidates, weights,", "grids: fixed, hashed"),
        box(X["second"], Y["train"], wide, TALL, TRACED, "LossTable", "every candidate on", "every instance"),
        box(X["third"], Y["train"], wide, TALL, PLAIN, "Certificate", "mean, success,", "quantile; ledger"),
        box(X["fourth"], Y["train"], wide, TALL, PLAIN, "Run directory", "and report", "all files hashed"),
        box(X["third"], Y["test"], wide, TALL, TRACED, "Comparison", "learned, textbook:", "no bounds"),
        box(X["fourth"], Y["test"], wide, TALL, PLAIN, "verify", "every number again,", "by other code"),
        arrow((X["instances"] + 120, middle["train"]), (X["split"] - 4, middle["train"])),
        arrow((fork, middle["train"]), (fork, middle["prior"]), (X["split"] - 4, middle["prior"])),
        arrow((fork, middle["train"]), (fork, middle["test"]), (X["split"] - 4, middle["test"])),
        arrow((split_right, middle["prior"]), (X["first"] - 4, middle["prior"])),
        arrow((X["first"] + wide, middle["prior"]), (X["second"] - 4, middle["prior"])),
        arrow((split_right, middle["train"]), (X["second"] - 4, middle["train"])),
        arrow((X["second"] + wide / 2, Y["prior"] + TALL), (X["second"] + wide / 2, Y["train"] - 4)),
        arrow((X["second"] + wide, middle["prior"]), (below, middle["prior"]), (below, Y["train"] - 4)),
        arrow((X["second"] + wide, middle["train"]), (X["third"] - 4, middle["train"])),
        arrow((X["third"] + wide, middle["train"]), (X["fourth"] - 4, middle["train"])),
        arrow((split_right, middle["test"]), (X["third"] - 4, middle["test"])),
        arrow((below, Y["train"] + TALL), (below, Y["test"] - 4)),
        arrow((X["third"] + wide, 370), (X["fourth"] - 14, 370), (X["fourth"] - 14, 280), (X["fourth"] - 4, 280)),
        arrow((X["fourth"] + wide / 2, Y["train"] + TALL), (X["fourth"] + wide / 2, Y["test"] - 4)),
        f'<path d="M{X["split"]} 178 H{WIDTH - 4}" class="line"/>',
        note(X["split"], 30, "before the training instances are looked at"),
        note(X["split"], 200, "after everything above is fixed"),
        *legend(X["split"], HEIGHT - 30),
    ]
    return TEMPLATE.format(width=WIDTH, height=HEIGHT, grey=BETWEEN, body="\n".join(parts))


def narrow_picture():
    """From top to bottom, 380 wide, for a phone: the steps on the left, the lines of train and test on the right."""
    left, wide, tall, train, test = 4, 244, 72, 290, 332
    y = {"search": 264, "design": 364, "table": 514, "certificate": 614, "comparison": 714, "run": 814, "verify": 914}
    middle, right = left + wide / 2, left + wide
    steps = {
        "search": (TRACED, "Search", "candidates tried", "on the prior part"),
        "design": (PLAIN, "Design", "candidates, weights,", "grids: fixed, hashed"),
        "table": (TRACED, "LossTable", "every candidate on", "every training instance"),
        "certificate": (PLAIN, "Certificate", "gain, mean, success, quantile;", "ledger of assumptions"),
        "comparison": (TRACED, "Comparison", "learned, textbook:", "no bounds"),
        "run": (PLAIN, "Run directory", "and report", "all files hashed"),
        "verify": (PLAIN, "verify", "every number again,", "by other code"),
    }
    parts = [
        box(left, 6, 372, 60, DATA, "Instances", "one row, one problem"),
        *(box(left + 128 * k, 106, 116, tall, DATA, row, *lines) for k, (row, lines) in enumerate(SPLIT.items())),
        *(arrow((left + 58 + 128 * k, 66), (left + 58 + 128 * k, 102)) for k in range(3)),
        *(box(left, y[name], wide, tall, *words) for name, words in steps.items()),
        arrow((62, 106 + tall), (62, y["search"] - 4)),
        *(arrow((middle, y[a] + tall), (middle, y[b] - 4)) for a, b in zip(y, list(y)[1:], strict=False)),
        arrow(
            (190, 106 + tall),
            (190, 196),
            (train, 196),
            (train, y["table"] + tall / 2),
            (right + 4, y["table"] + tall / 2),
        ),
        arrow((test, 106 + tall), (test, y["comparison"] + tall / 2), (right + 4, y["comparison"] + tall / 2)),
        note(76, 222, "before the training"),
        note(76, 241, "instances are looked at"),
        f'<path d="M{left} 462 H{right}" class="line"/>',
        note(middle + 10, 488, "once all is fixed"),
        *legend(left, 1006, 8),
    ]
    return TEMPLATE.format(width=380, height=1032, grey=BETWEEN, body="\n".join(parts))


def main():
    """Write both pictures."""
    here = Path(__file__)
    here.with_suffix(".svg").write_text(wide_picture())
    here.with_name("pipeline_narrow.svg").write_text(narrow_picture())


SPLIT = {"prior": ("to choose",), "train": ("to certify",), "test": ("to compare",)}


def legend(x, y, between=70):
    """What the colours mean."""
    for text, colour in {"data": DATA, "may use JAX": TRACED, "NumPy and SciPy": PLAIN}.items():
        yield f'<rect x="{x}" y="{y}" width="18" height="18" rx="4" fill="{colour}"/>'
        yield note(x + 24, y + 14, text)
        x += 30 + between + 8 * len(text)


TEMPLATE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>From instances to a verified run</title>
<style>
text {{ font: 15px system-ui, "DejaVu Sans", sans-serif; fill: white; text-anchor: middle }}
.title {{ font-weight: 600; font-size: 17px }}
.note {{ fill: {grey}; font-size: 15px }}
.arrow {{ fill: none; stroke: {grey}; stroke-width: 2 }}
.line {{ stroke: {grey}; stroke-width: 1.5; stroke-dasharray: 6 5 }}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L10 5 L0 10 z" fill="{grey}"/></marker></defs>
{body}
</svg>
"""

if __name__ == "__main__":
    main()
