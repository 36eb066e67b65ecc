"""Chromium without a network, and pages in it that remember what went wrong."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[object]:
    """A running browser; without one the test is skipped, and fails in CI."""
    path = os.environ.get("FLASHRAID_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing = f"no browser: install one of {', '.join(NAMES)}, or name it in FLASHRAID_CHROMIUM"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A file in a page, once its charts are drawn. `errors` and `requests` should stay empty."""

    def __init__(self, browser, path: Path, width: int, theme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True
        )
        self.context.set_offline(True)
        self.errors: list[str] = []
        self.requests: list[str] = []
        # Long enough for a machine that has much else to do: how fast pages open is not what these tests are about.
        self.context.set_default_timeout(120_000)
        self.page = self.context.new_page()
        self.page.on(
            "console", lambda said: self.errors.extend([said.text] if said.type in ("error", "warning") else [])
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn]")

    @property
    def outside(self) -> list[str]:
        """Requests for anything but files and data in the page."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]

    def __enter__(self):
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()
