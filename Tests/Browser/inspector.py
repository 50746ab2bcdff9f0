"""Functions with which the tests of the inspector check a page."""

import importlib.util
import os
import urllib.error
import urllib.request

from support import SHOTS, BrowserTestCase

AXE = os.path.join(
    os.path.dirname(importlib.util.find_spec("axe_playwright_python").origin), "axe.min.js")
SIZES = [(1280, 900, "wide"), (390, 844, "phone")]


class InspectorTestCase(BrowserTestCase):
    """Tests of the pages at /_understudy/."""

    def page(self, path=""):
        return f"{self.origin}/_understudy/{path}"

    def check_accessible(self, driver, what=""):
        """Checks that axe-core finds no problem on the page."""
        with open(AXE, encoding="utf-8") as file:
            driver.execute_script(file.read())
        found = driver.execute_async_script(
            "const done=arguments[0];axe.run(document,{resultTypes:['violations'],"
            "runOnly:['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa','best-practice']})"
            ".then(r=>done(r.violations.map(v=>[v.id,v.help,v.nodes.map(n=>n.html+' '+n.failureSummary)])),"
            "e=>done([['axe',String(e),[]]]))")
        lines = [f"{name}: {words}\n    " + "\n    ".join(nodes[:5]) for name, words, nodes in found]
        self.assertEqual(found, [], f"{what or driver.current_url}\n" + "\n".join(lines))

    def looks(self, path, name, driver=None, prepare=None):
        """The page at both widths in both themes: nothing inaccessible, nothing to scroll to the side, nothing that the
        policy forbids. `prepare` is called with the driver when the page is open. What is accessible depends on the
        width or on the theme, not on both: each is looked at once, but for pictures."""
        driver = driver or self.browser()
        for number, (width, height, size) in enumerate(SIZES):
            for dark in [False, True] if SHOTS else [number == 1]:
                self.size(driver, width, height, dark)
                driver.get(self.page(path))
                if prepare:
                    prepare(driver)
                theme = "dark" if dark else "light"
                self.shot(driver, f"inspector-{name}-{size}-{theme}")
                self.fits(driver, width)
                self.check_accessible(driver, f"{path} {size} {theme}")
        for entry in driver.get_log("browser"):
            self.assertNotIn("Content Security Policy", entry["message"])
            self.assertNotIn("Uncaught", entry["message"])
        return driver

    def ask(self, path, headers={}, data=None, method=None):
        """Sends a client's request, and returns the status and the body, also of a refusal."""
        request = urllib.request.Request(f"{self.origin}/{path}", data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()
