"""What a reader sees: every report is drawn in a browser without a complaint, and can be used without a mouse."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

import reports

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
FRONTIER = "one hyperparameter and a frontier"

# In CI there is a browser, or it is an error.
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ,
    reason="No browser: the reports were NOT looked at. Run `apt-get install chromium`.",
)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens the report of a case, and fails at the end if the browser had to complain."""
    complaints, contexts = [], []

    def open_report(case, *, viewport=DESKTOP, javascript=True, **options):
        directory = tmp_path / "a run's place"
        directory.mkdir(exist_ok=True)
        (directory / "report.html").write_text(reports.page(case), encoding="utf-8")
        contexts.append(browser.new_context(viewport=viewport, java_script_enabled=javascript, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: complaints.append(request.url) if request.url[:4] == "http" else None)
        page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
        page.goto((directory / "report.html").as_uri())
        if javascript:
            page.wait_for_selector("html[data-drawn=yes]", timeout=20_000)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert complaints == []


def until(page, script):
    """Wait until a script says so; not by `wait_for_function`, whose eval the page forbids."""
    for _ in range(200):
        if page.evaluate(script):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"never: {script}")


def photographed(page, name):
    """A screenshot, where somebody asked for it."""
    if "PACOPT_SCREENSHOTS" in os.environ:
        directory = Path(os.environ["PACOPT_SCREENSHOTS"])
        directory.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=directory / f"{re.sub('[^a-z0-9]+', '-', name)}.png", full_page=True)


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


#: One of each kind of chart; the others, which differ in words and numbers, are opened by `make slow`.
FIRST = {
    "two hyperparameters",
    "a rule with arrays",
    "one hyperparameter and a frontier",
    "all runs failed",
    "everything, stored by the first version",
}
CASES = [pytest.param(case, marks=() if case in FIRST else pytest.mark.slow) for case in reports.CASES]
assert set(reports.CASES) >= FIRST


@pytest.mark.parametrize("case", CASES)
def test_every_chart_of_every_report_is_drawn(opened, case):
    page = opened(case)
    charts = page.locator(".chart[role=img]")
    assert charts.count() >= 1
    for i in range(charts.count()):
        box = charts.nth(i).locator("svg").bounding_box()
        assert box["width"] > 300
        assert box["height"] > 50
        assert charts.nth(i).locator(".role-mark path, .role-mark line").count() > 0
        assert "NaN" not in charts.nth(i).inner_html()
        assert len(charts.nth(i).get_attribute("aria-label")) > 40
    assert overflow(page) <= 0
    photographed(page, f"{case} desktop")
    page.set_viewport_size(PHONE)
    until(page, "[...document.querySelectorAll('.chart svg')].every(svg => svg.clientWidth <= 390)")
    assert overflow(page) <= 0
    cut = "[...document.querySelectorAll('.first .scroll')].map(box => box.scrollWidth - box.clientWidth)"
    assert all(rest <= 0 for rest in page.evaluate(cut)), "a number that is cut off is another number"
    photographed(page, f"{case} phone")


def test_the_first_screen_holds_badge_numbers_and_verdict(opened):
    page = opened("two hyperparameters")
    for part in (".badge", ".tiles", ".against", "text=Verdict", "text=Measured on 50 test instances"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= DESKTOP["height"]


def test_the_slider_moves_by_keyboard_and_says_another_choice(opened):
    page = opened(FRONTIER)
    picks = json.loads(page.locator("#picks").text_content())["picks"]
    slider = page.locator("#slider")

    def shown():
        said = {part: page.locator(f"[data-pick={part}]").text_content() for part in ("hyper", "code")}
        return said | {"numbers": page.locator("[data-number]").all_text_contents()}

    def ring():
        return page.locator("[data-chart=choices] .mark-symbol path").last.get_attribute("transform")

    assert shown() == picks[int(slider.input_value())]
    assert ", deployed" in page.locator("#picked").text_content()
    slider.focus()
    page.keyboard.press("Home")
    first, place = shown(), ring()
    assert first == picks[0]
    page.keyboard.press("ArrowRight")
    assert shown() == picks[1] != first
    said = slider.get_attribute("aria-valuetext")
    assert said.startswith(f"success at least {picks[1]['numbers'][0]}, mean ratio at most {picks[1]['numbers'][1]},")
    page.keyboard.press("End")
    assert shown() == picks[-1]
    assert ", deployed" not in page.locator("#picked").text_content()
    symbols = "document.querySelectorAll('[data-chart=choices] .mark-symbol path')"
    until(page, f"[...{symbols}].at(-1).getAttribute('transform') !== {place!r}")
    assert page.locator("#picked").get_attribute("aria-live") == "polite"


def test_a_keyboard_reaches_everything_and_skips_to_the_certificate(opened):
    page = opened(FRONTIER)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"slider", "SUMMARY", "BUTTON", "A"} <= reached


def test_code_and_command_are_for_the_directory_of_the_page_and_name_no_other(opened, tmp_path):
    page = opened(FRONTIER)
    assert page.locator("#verify").text_content() == "pacopt verify ."
    assert 'pacopt.Learned.load(".")' in page.locator("#use").text_content()
    assert str(tmp_path) not in page.content()
    page.locator("[data-copy=verify]").click()
    until(page, "/Copied|Selected/.test(document.querySelector('[data-copy=verify]').textContent)")


def test_hovering_over_the_curves_shows_their_values(opened):
    page = opened("two hyperparameters")
    page.locator("[data-chart=curves] svg").hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    shown = dict(row.split("\t") for row in page.locator("#vg-tooltip-element").inner_text().strip().splitlines())
    curves = reports.learned("two hyperparameters").curves
    k = curves.steps.tolist().index(int(shown["step"]))
    assert float(shown["learned: mean"]) == pytest.approx(curves.mean[0, k], rel=1e-2)
    assert float(shown["textbook: median"]) == pytest.approx(curves.median[1, k], rel=1e-2)


def test_an_instance_and_its_mark_lead_to_each_other(opened):
    page = opened("two hyperparameters")
    link = page.locator("[data-instance]").first
    rings = "document.querySelectorAll('[data-chart=rival0] .mark-symbol').length && [...document.querySelectorAll"
    rings += "('[data-chart=rival0] .mark-symbol')].at(-1).querySelectorAll('path').length"
    assert page.evaluate(rings) == 0
    link.click()
    until(page, f"{rings} === 1")
    label = page.locator("[data-chart=rival0] .mark-text.role-mark text").last
    label.click()
    until(page, f"location.hash === '#instance-{label.text_content()}'")


def test_a_tooltip_shows_a_hostile_name_as_text(opened):
    page = opened("four hyperparameters with hostile names")
    rule = page.locator("[data-chart=marginal1] .mark-rule.role-mark line")
    rule.scroll_into_view_if_needed()
    x, y = rule.evaluate("line => (({x, y, height}) => [x, y + height / 2])(line.getBoundingClientRect())")
    page.mouse.move(x, y)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "<img src=x" in tooltip.text_content()
    assert tooltip.locator("img").count() == 0


def luminance(colour):
    parts = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_lines_stand_out_in_both_schemes(opened, scheme):
    page = opened("success not attained", color_scheme=scheme)
    grounds = {name: _computed(page, f"var(--{name})") for name in ("bg", "surface", "warn-bg", "good-bg", "bad-bg")}
    assert (luminance(grounds["bg"]) > 0.5) == (scheme == "light")
    for name in ("ink", "muted", "learned", "standard", "good", "warn", "bad"):
        for ground in (grounds["bg"], grounds["surface"]):
            assert contrast(_computed(page, f"var(--{name})"), ground) >= 4.5, name
    for name in ("good", "warn", "bad"):
        assert contrast(_computed(page, f"var(--{name})"), grounds[f"{name}-bg"]) >= 4.5, name
    line = page.locator("[data-chart=curves] .mark-line path").last
    assert line.evaluate("path => getComputedStyle(path).stroke") == _computed(page, "var(--learned)")
    photographed(page, f"{scheme} scheme")


def _computed(page, colour):
    script = """colour => {
        const probe = document.body.appendChild(document.createElement("i"));
        probe.style.color = colour;
        const found = getComputedStyle(probe).color;
        probe.remove();
        return found;
    }"""
    return page.evaluate(script, colour)


def test_on_paper_everything_is_unfolded_and_the_paper_is_white(opened):
    page = opened(FRONTIER, color_scheme="dark")
    assert not page.locator("#statement").is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    until(page, "[...document.querySelectorAll('details')].every(part => part.open)")
    assert page.locator("#statement").is_visible()
    assert not page.locator("#slider").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert luminance(_computed(page, "var(--ink)")) < 0.1
    photographed(page, "paper")
    page.emulate_media(media="screen")
    until(page, "!document.querySelector('#words').open")


def test_without_javascript_words_and_numbers_are_there(opened):
    page = opened(FRONTIER, javascript=False)
    certificate = reports.learned(FRONTIER).certificate
    assert "The charts need JavaScript" in page.locator("noscript").inner_text()
    assert page.locator("#statement").text_content() == str(certificate)
    assert page.locator("#choices tbody tr").count() > 3
    for number in page.locator("[data-number]").all_inner_texts():
        assert number in str(certificate) or number == "none shown"
