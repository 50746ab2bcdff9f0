"""A daemon, a client app with a callback, and headless Chromium."""

import atexit
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

BINARY = os.environ["UNDERSTUDY_BINARY"]
SHOTS = os.environ.get("UNDERSTUDY_SCREENSHOTS", "")


class App(http.server.BaseHTTPRequestHandler):
    """A client whose session cookie is Lax, and another that is None; it remembers what its callback got."""

    seen = []

    def log_message(self, *arguments):
        pass

    def page(self, body, headers=()):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        if self.path == "/popup":
            return self.page(
                "<script>window.got=[];addEventListener('message',e=>got.push([e.origin,e.data]))</script>popup host"
            )
        if self.path.startswith("/callback"):
            App.seen.append({"query": dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))})
            return self.page("<h1 id=done>done</h1>")
        self.page(
            "start",
            [
                ("Set-Cookie", "lax=1; SameSite=Lax; Path=/"),
                ("Set-Cookie", "none=1; SameSite=None; Secure; Path=/"),
            ],
        )

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        App.seen.append({"cookie": self.headers.get("Cookie", ""), "form": dict(urllib.parse.parse_qsl(body))})
        self.page("<h1 id=done>done</h1>")


def wait(driver, condition, what="the page"):
    def holds(driver):
        try:
            return condition(driver)
        except WebDriverException as failure:
            # chromedriver sometimes reports an element of a page that has just been left by this error.
            if "does not belong to the document" in str(failure):
                return False
            raise

    return WebDriverWait(driver, 120, ignored_exceptions=[StaleElementReferenceException]).until(holds, what)


# Browsers that no test has at the moment, with scripts and without: a Chromium takes four seconds of processor time to start.
free_browsers = {True: [], False: []}


def start_browser(scripts):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"]:
        options.add_argument(argument)
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    atexit.register(driver.quit)
    return driver


class BrowserTestCase(unittest.TestCase):
    # A subclass sets further options of the daemon here.
    options = []
    # The browsers that the test has, and the list to which each goes back.
    taken = {}

    @classmethod
    def seed_text(cls):
        """Returns the seed that is merged into the built-in one."""
        return {}

    @classmethod
    def setUpClass(cls):
        cls.app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
        threading.Thread(target=cls.app.serve_forever, daemon=True).start()
        cls.callback = f"http://localhost:{cls.app.server_port}/callback"
        cls.seed = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"understudy-browser-{os.getpid()}.json")
        with open(cls.seed, "w") as file:
            json.dump(cls.seed_text(), file)
        default = os.path.join(os.path.dirname(__file__), "../../seed-data/default.json")
        cls.seeds = ["--seed", default, "--seed", cls.seed]
        cls.daemon = subprocess.Popen(
            [BINARY, "serve", "--port", "0", *cls.seeds, *cls.options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        cls.port = int(cls.daemon.stdout.readline().rsplit(":", 1)[1])
        cls.origin = f"http://localhost:{cls.port}"

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait()
        cls.app.shutdown()
        os.unlink(cls.seed)

    def setUp(self):
        App.seen.clear()
        self.control("reset")

    def control(self, path, body=None):
        data = json.dumps(body or {}).encode()
        with urllib.request.urlopen(f"{self.origin}/_understudy/v1/{path}", data=data) as answer:
            return json.load(answer)

    def browser(self, width=1280, height=900, scripts=True, dark=False):
        """A browser with nothing stored, which the test has for itself until it ends."""
        free = free_browsers[scripts]
        driver = free.pop() if free else start_browser(scripts)
        self.taken[driver] = free
        self.addCleanup(self.give_back, driver)
        self.size(driver, width, height, dark)
        return driver

    def give_back(self, driver):
        """Closes all windows for a new one and forgets what sites have stored, so that another test can have the browser."""
        free = self.taken.pop(driver, None)
        if free is None:
            return
        try:
            old = driver.window_handles
            driver.switch_to.new_window("window")
            new = driver.current_window_handle
            for window in old:
                driver.switch_to.window(window)
                driver.close()
            driver.switch_to.window(new)
            driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
            driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
            driver.get_log("browser")
            free.append(driver)
        except WebDriverException:
            driver.quit()

    def size(self, driver, width, height, dark=False):
        # A window can't be as narrow as a phone, so the screen is.
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def shot(self, driver, name):
        if SHOTS:
            driver.save_screenshot(os.path.join(SHOTS, f"{name}.png"))

    def person(self, driver, name):
        return next(b for b in driver.find_elements(By.CSS_SELECTOR, "button.person") if name in b.text)

    def fits(self, driver, width):
        """Checks that the page doesn't scroll to the side."""
        self.assertLessEqual(driver.execute_script("return document.documentElement.scrollWidth"), width)


class AuthorityTestCase(BrowserTestCase):
    """Tests with a second daemon that has the same seeds, an authority and a proxy, for the real names."""

    def setUp(self):
        super().setUp()
        self.home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.environment = os.environ | {"HOME": self.home}
        authority = ["--ca-directory", f"{self.home}/ca"]
        subprocess.run([BINARY, "ca", "init", *authority], check=True, capture_output=True)
        hints = subprocess.run([BINARY, "ca", "install-hint", *authority], check=True, capture_output=True, text=True)
        self.hints = hints.stdout.split("# ")
        daemon = subprocess.Popen(
            [BINARY, "serve", "--port", "0", "--tls-port", "0", "--proxy-port", "0", *authority, *self.seeds],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        self.addCleanup(daemon.stdout.close)
        words = daemon.stdout.readline().split()
        self.tls, self.proxy = words[5].rstrip(","), words[-1]

    def follow_hint(self, place):
        commands = next(hint for hint in self.hints if hint.startswith(place)).split("\n", 1)[1]
        subprocess.run(["bash", "-e", "-c", commands], check=True, env=self.environment, capture_output=True)

    def chromium(self):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--proxy-server={self.proxy}"]:
            options.add_argument(argument)
        driver = webdriver.Chrome(
            options=options, service=webdriver.ChromeService("/usr/bin/chromedriver", env=self.environment))
        self.addCleanup(driver.quit)
        return driver
