"""Pages of an app that load a provider's script, and the actions of people in their pop-ups."""

import http.server
import os
import subprocess
import tempfile
import threading
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import NoSuchWindowException, WebDriverException
from selenium.webdriver.common.by import By

from support import BINARY, AuthorityTestCase, BrowserTestCase, wait

# This checks whether the system allows namespaces, and doesn't use the program under test.
INTERCEPTS = subprocess.run(["unshare", "--map-root-user", "--mount", "--net", "true"]).returncode == 0


class Pages(http.server.BaseHTTPRequestHandler):
    """A site whose pages a test writes. What is posted to it lies in `posted`, with the cookies that came along."""

    pages = {}
    posted = []

    def log_message(self, *arguments):
        pass

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        page = self.pages.get(address.path)
        if page is not None:
            return self.answer(page)
        if address.path == "/favicon.ico":
            return self.answer("")
        self.posted.append({"query": dict(urllib.parse.parse_qsl(address.query))})
        self.answer("<h1 id=done>done</h1>")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        cookies = dict(urllib.parse.parse_qsl(self.headers.get("Cookie", ""), separator="; "))
        self.posted.append({"cookies": cookies, "form": dict(urllib.parse.parse_qsl(body))})
        self.answer("<h1 id=done>done</h1>")


class ScriptTestCase(BrowserTestCase):
    # A subclass sets the script's address here, without `https://`.
    script = ""

    @classmethod
    def setUpClass(cls):
        # The site is known before the daemon starts, so that seeds can register it.
        cls.pages = type("", (Pages,), {"pages": {}, "posted": []})
        cls.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), cls.pages)
        threading.Thread(target=cls.site.serve_forever, daemon=True).start()
        cls.home_page = f"http://localhost:{cls.site.server_port}"
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.site.shutdown()

    def setUp(self):
        super().setUp()
        self.pages.posted.clear()
        self.pages.pages.clear()

    def source(self):
        """Returns the script's address below the daemon's own address."""
        return f"{self.origin}/{self.script}"

    def open(self, body, head="", host="localhost", width=1280, height=900):
        """Opens a page of the app in a browser, which it returns."""
        self.pages.pages["/"] = (
            "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>An app</title>"
            f"{head}<body>{body.replace('SCRIPT', self.source())}</body></html>")
        driver = self.start(width, height)
        driver.get(f"http://{host}:{self.site.server_port}/")
        return driver

    def open_documented(self, heading, width=1280):
        """Opens the page that docs/web.md shows, with the ports of this test."""
        self.pages.pages["/"] = documented(heading).replace(":9099", f":{self.port}").replace(":3000", f":{self.site.server_port}")
        driver = self.start(width, 900)
        driver.get(f"{self.home_page}/")
        return driver

    def start(self, width, height):
        return self.browser(width=width, height=height)

    def popup(self, driver, begin, act, result="return window.result"):
        """Opens a pop-up by `begin`, does `act` in it, and returns the value of `result`."""
        page = driver.current_window_handle
        begin()
        wait(driver, lambda d: len(d.window_handles) > 1, "a pop-up")
        try:
            driver.switch_to.window(next(w for w in driver.window_handles if w != page))
            act(driver)
        except WebDriverException as error:
            # The sign-in was over, and the window closed during a command of chromedriver.
            if not isinstance(error, NoSuchWindowException) and "frame detached" not in str(error):
                raise
        driver.switch_to.window(page)
        return wait(driver, lambda d: d.execute_script(result), "the page's result")

    def press(self, driver, selector):
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, selector), selector)
        driver.find_elements(By.CSS_SELECTOR, selector)[0].click()

    def choose(self, driver, name="Ada"):
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button.person"))
        self.person(driver, name).click()


def documented(heading):
    """Returns the page that docs/web.md shows below a heading."""
    with open(os.path.join(os.path.dirname(__file__), "../../docs/web.md")) as file:
        section = file.read().split(f"### {heading}\n", 1)[1].split("\n##", 1)[0]
    return section.split("```html\n", 1)[1].split("```", 1)[0]


class RealNameScriptTestCase(AuthorityTestCase, ScriptTestCase):
    """Tests of the pages with the script's real address, in a browser that uses the daemon's proxy."""

    def setUp(self):
        super().setUp()
        self.follow_hint("Chromium")

    def source(self):
        return f"https://{self.script}"

    def start(self, width, height):
        return self.chromium()


class InterceptedScriptTestCase(ScriptTestCase):
    """Tests of the pages in a browser under `exec --intercept`, which starts chromedriver."""

    def source(self):
        return f"https://{self.script}"

    def start(self, width, height):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        driver = subprocess.Popen(
            [BINARY, "exec", "--log-file", os.devnull, "--intercept", *self.seeds, "--", "/usr/bin/chromedriver", "--port=0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | {"HOME": home.name})
        self.addCleanup(driver.wait)
        self.addCleanup(driver.terminate)
        self.addCleanup(driver.stdout.close)
        words = next(line for line in driver.stdout if "started successfully on port" in line)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={home.name}/profile"]:
            options.add_argument(argument)
        port = words.split()[-1].rstrip(".")
        browser = webdriver.Remote(f"http://127.0.0.1:{port}", options=options)
        self.addCleanup(browser.quit)
        return browser
