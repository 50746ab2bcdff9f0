"""Tests of the control API's pages, and of the calls that a page of its origin may send."""

import json
import unittest
import urllib.request

from support import BrowserTestCase, wait


class ControlPages(BrowserTestCase):
    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.origin}/_understudy/v1/{path}", data) as answer:
            return json.load(answer)

    def test_event_stream(self):
        driver = self.browser()
        driver.get(self.origin)
        driver.execute_script(
            "window.got=[];window.source=new EventSource('/_understudy/v1/requests?path=/auth/keys');"
            "source.addEventListener('exchange',e=>got.push(JSON.parse(e.data)))"
        )
        for _ in range(2):
            urllib.request.urlopen(f"{self.origin}/appleid.apple.com/auth/keys").read()
        wait(driver, lambda d: d.execute_script("return got.length") >= 2)
        self.assertEqual(driver.execute_script("return got[got.length-1].host"), "appleid.apple.com")
        driver.execute_script("source.close()")

    def test_foreign_page_is_refused(self):
        driver = self.browser()
        driver.get(self.callback)
        status = driver.execute_async_script(
            "const done=arguments[1];fetch(arguments[0],{method:'POST',mode:'no-cors'})"
            ".then(()=>fetch(arguments[0])).then(a=>done(a.status),e=>done('blocked'))",
            f"{self.origin}/_understudy/v1/reset",
        )
        self.assertEqual(status, "blocked")
        last = self.ask("accounts")
        self.assertTrue(last["accounts"])

    def test_foreign_page_cannot_even_read_or_open(self):
        driver = self.browser()
        driver.get(self.callback)
        before = len(self.ask("accounts")["accounts"])
        world = self.origin.replace("localhost", "world.localhost")
        for origin in [self.origin, self.origin.replace("localhost", "127.0.0.1"), world]:
            # The request for an image has no Origin header. It must get an error, not status 200.
            status = driver.execute_async_script(
                "const done=arguments[1];fetch(arguments[0],{mode:'no-cors'})"
                ".then(()=>{const e=performance.getEntriesByName(arguments[0]).pop();done(e?e.responseStatus:0)})"
                ".catch(e=>done(String(e)))",
                f"{origin}/_understudy/v1/health?{origin}",
            )
            self.assertIn(status, [0, 403])
            driver.execute_script("location.href=arguments[0]", f"{origin}/_understudy/v1/health")
            wait(driver, lambda d: "foreign" in d.page_source)
            driver.get(self.callback)
        self.assertEqual(len(self.ask("accounts")["accounts"]), before)
        # If the address is typed in, or a page of the daemon requests it, the daemon answers.
        driver.get(f"{self.origin}/_understudy/v1/health")
        self.assertIn("ok", driver.page_source)
        driver.get(self.origin)
        status = driver.execute_async_script(
            "const done=arguments[0];fetch('/_understudy/v1/health').then(a=>done(a.status))")
        self.assertEqual(status, 200)


if __name__ == "__main__":
    unittest.main()
