"""The pages in a real headless Chromium, over a real campaign on a simulated driver."""

import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from cubisect.service.app import create_app, login_url
from service.conftest import TOKEN, Running, Serve
from service.recorded import record_campaign

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

WIDE: "ViewportSize" = {"width": 1280, "height": 900}
NARROW: "ViewportSize" = {"width": 390, "height": 800}
PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt install chromium")
    with sync_api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> Running:
    """Return a server over a database of its own, which starts campaigns for real."""
    path = tmp_path_factory.mktemp("live") / "bisect.sqlite"
    record_campaign(path, "grown", trials=3000)
    record_campaign(path, "open", trials=20, budget=50)
    return serve(create_app(str(path), TOKEN))


@pytest.fixture
def page(browser: "Browser", live: Running) -> Iterator["Page"]:
    """Return a page whose reader has signed in; anything said on its console is an error."""
    context = browser.new_context(viewport=WIDE, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
    page.goto(login_url(live.app, 8017).replace("http://127.0.0.1:8017", live.url))
    yield page
    context.close()
    assert said == []


def test_from_start_to_reproducer(page: "Page", live: Running) -> None:
    page.get_by_role("link", name="Start").click()
    page.locator("[name=name]").fill("from-the-page")
    page.locator("[name=driver]").select_option("sim:every-outcome")
    page.locator("[name=budget]").fill("40")
    page.locator("[name=lanes]").fill("2")
    page.locator("button.main").click()
    page.wait_for_url("**/campaigns/from-the-page")
    assert page.locator(".notice strong").inner_text() == "SIMULATED"
    page.get_by_text("40 of 40 trials").wait_for()
    page.locator("#standing").get_by_text("complete").wait_for()
    page.locator("#trials tbody a").first.click()
    page.get_by_role("heading", name="Evidence").wait_for()
    assert page.get_by_text("bisect replay from-the-page/").is_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the reproducer").click()
    archive = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert archive.testzip() is None
    assert {Path(name).suffix for name in archive.namelist()} >= {".c", ".py", ".json"}


def test_stop_and_resume(page: "Page", live: Running) -> None:
    page.goto(f"{live.url}/start")
    page.locator("[name=name]").fill("interrupted")
    page.locator("[name=driver]").select_option("sim:null")
    page.locator("[name=budget]").fill("100000")
    page.locator("button.main").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("stopped").wait_for()
    done = int(page.locator("[data-field=done]").inner_text().replace(",", ""))
    page.get_by_label("Trials in all").fill(str(done + 10))
    page.get_by_role("button", name="Resume").click()
    page.locator("#standing").get_by_text("complete").wait_for()


def test_a_refresh_leaves_alone_what_is_typed_or_focused(page: "Page", live: Running) -> None:
    page.goto(f"{live.url}/campaigns/open")
    refresh = "swap(location.href, PARTS, isUntouched)"
    parts = "PARTS.map((id) => document.getElementById(id)).forEach((part) => part.dataset.old = 1)"
    kept = "PARTS.filter((id) => document.getElementById(id).dataset.old)"
    page.evaluate(parts)
    page.get_by_label("Trials in all").fill("77")
    page.locator("#trials tbody a").first.focus()
    page.evaluate(refresh)
    assert page.evaluate(kept) == ["trials", "standing"]
    assert page.get_by_label("Trials in all").input_value() == "77"
    page.get_by_role("link", name="Zoom in").focus()
    page.evaluate(parts)
    page.evaluate(refresh)
    assert page.evaluate(kept) == ["standing"]
    assert page.evaluate("document.activeElement.dataset.key") == "in"


def test_a_click_zooms_in_and_back_zooms_out(page: "Page", live: Running) -> None:
    page.goto(f"{live.url}/campaigns/grown")
    shown = page.locator(".zoom .faint")
    assert shown.inner_text() == "3,000 trials shown"
    page.locator("svg a.cell[data-view]").nth(40).click()
    page.wait_for_url("**x_low=**")
    page.get_by_text("outside").wait_for()
    page.go_back()
    page.get_by_text("3,000 trials shown").wait_for()


def test_dragging_zooms_in_on_an_area(page: "Page", live: Running) -> None:
    page.goto(f"{live.url}/campaigns/grown")
    box = page.locator("svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=5)
    page.mouse.up()
    page.get_by_text("outside").wait_for()
    assert "x_low=" in page.url


def test_the_keyboard_reaches_the_map(page: "Page", live: Running) -> None:
    page.goto(f"{live.url}/campaigns/grown")
    page.get_by_role("link", name="Zoom in").focus()
    page.keyboard.press("Enter")
    page.get_by_text("outside").wait_for()
    assert page.evaluate("document.activeElement.dataset.key") == "in"
    shown = page.url
    page.locator("svg a.cell[data-view]").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != shown)
    page.wait_for_function("document.activeElement === document.querySelector('#map svg')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('#map svg a.cell')")


def test_the_map_works_without_the_script(browser: "Browser", live: Running) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live.url}/campaigns/grown")
    page.locator("svg a.cell[data-view]").nth(40).click()
    page.wait_for_url("**x_low=**")
    assert page.get_by_text("outside").is_visible()
    page.locator("[name=x]").select_option("mean_size")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**x=mean_size**")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_pages_fit_and_can_be_read(
    browser: "Browser", live: Running, scheme: Literal["light", "dark"], viewport: "ViewportSize"
) -> None:
    """Nothing runs off the page, and text stands out from its ground (WCAG 2: 4.5 to 1).

    With BISECT_SCREENSHOTS set to a folder, the pages are kept there to be looked at.
    """
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    page.goto(login_url(live.app, 8017).replace("http://127.0.0.1:8017", live.url))
    failed = live.reader.get("/api/campaigns/grown/trials", params={"outcome": "segfault", "limit": 1}).json()[0]
    trial = f"/campaigns/grown/trials/{failed['number']}"
    for path in ("/", "/campaigns/grown", trial, "/start", "/compare?a=grown&b=grown", "/login"):
        page.goto(live.url + path)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        assert page.evaluate(WORST_CONTRAST) >= 4.5, path
        folder = os.environ.get("BISECT_SCREENSHOTS")
        if folder:
            name = path.split("?")[0].strip("/").replace("/", "-") or "campaigns"
            page.screenshot(path=f"{folder}/{name}-{scheme}-{viewport['width']}.png", full_page=True)
    context.close()


WORST_CONTRAST = """
() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  let worst = 21;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("svg, script, option, .skip")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    worst = Math.min(worst, (a + 0.05) / (b + 0.05));
  }
  return worst;
}
"""
