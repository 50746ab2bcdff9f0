"""A web app that signs in as Firebase's web SDK does, and what its people do in pop-ups and on the way of a redirect."""

import http.client
import http.server
import os
import threading
import urllib.parse

from selenium.common.exceptions import JavascriptException, NoSuchWindowException, WebDriverException
from selenium.webdriver.common.by import By

from support import BrowserTestCase, wait

ANSWERS = "button[name=authorize][value='1'],button[value=continue]"

with open(os.path.join(os.path.dirname(__file__), "web_app.html"), "rb") as file:
    PAGE = file.read()


class WebApp(http.server.BaseHTTPRequestHandler):
    """The app's own page at /app; all other requests go on to the daemon, so that app and daemon can be one origin."""

    protocol_version = "HTTP/1.1"
    daemon = 0

    def log_message(self, *arguments):
        pass

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ["connection", "content-length", "date"]:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if urllib.parse.urlsplit(self.path).path == "/app":
            return self.answer(200, [("Content-Type", "text/html")], PAGE)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        daemon = http.client.HTTPConnection("127.0.0.1", self.daemon)
        daemon.request(self.command, self.path, body, headers)
        answer = daemon.getresponse()
        self.answer(answer.status, answer.getheaders(), answer.read())
        daemon.close()

    do_POST = do_OPTIONS = do_GET


class WebAppTestCase(BrowserTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("", (WebApp,), {"daemon": cls.port}))
        threading.Thread(target=cls.web.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.web.shutdown()
        super().tearDownClass()

    def page(self, host="localhost", daemon=None, **more):
        """Returns the app's address at `host`, with `daemon` as the daemon's address."""
        fields = {"daemon": daemon or self.origin, "element": "1"} | more
        return f"http://{host}:{self.web.server_port}/app?{urllib.parse.urlencode(fields)}"

    def open(self, url):
        driver = self.browser()
        driver.get(url)
        return driver

    def answer(self, driver, is_over, name="Ada"):
        """Chooses a person and consents, as far as the provider asks."""
        for selector, wanted in [("button.person", name.lower()), (ANSWERS, "")]:
            wait(driver, lambda d: is_over() or d.find_elements(By.CSS_SELECTOR, selector), selector)
            if is_over():
                return
            buttons = driver.find_elements(By.CSS_SELECTOR, selector)
            next(b for b in buttons if wanted in b.text.lower()).click()

    def popup(self, driver, *arguments, act=None):
        """Answers a pop-up, and returns the result that the page gets."""
        page = driver.current_window_handle
        driver.execute_script("window.result=null;popup(...arguments).then(r=>result=r,e=>result={error:String(e)})", *arguments)
        wait(driver, lambda d: len(d.window_handles) > 1 or d.execute_script("return result"), "a pop-up")
        try:
            driver.switch_to.window(next(w for w in driver.window_handles if w != page))
            if act:
                act(driver)
            else:
                self.answer(driver, lambda: len(driver.window_handles) == 1)
        except StopIteration:
            pass  # It is over, without a question.
        except WebDriverException as error:
            # The sign-in was over, and the window closed during a command of chromedriver.
            if not isinstance(error, NoSuchWindowException) and "frame detached" not in str(error):
                raise
        driver.switch_to.window(page)
        result = wait(driver, lambda d: d.execute_script("return result"), "the page's result")
        self.assertEqual(driver.execute_script("return failures"), [])
        return result

    def redirect(self, driver, provider):
        """Answers a redirect, and returns the result that the page gets when the browser is back."""
        url = driver.current_url
        driver.execute_script("window.isLeft=true;redirect(arguments[0])", provider)

        def is_back():
            try:
                return driver.current_url == url and not driver.execute_script("return window.isLeft")
            except JavascriptException:
                return False

        self.answer(driver, is_back)
        wait(driver, lambda d: is_back(), "the app's page")
        return self.result(driver)

    def result(self, driver):
        driver.execute_script("window.result=null;redirectResult().then(r=>result=r,e=>result={error:String(e)})")
        return wait(driver, lambda d: d.execute_script("return result"), "the redirect's result")
