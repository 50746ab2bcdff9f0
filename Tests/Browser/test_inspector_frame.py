"""Tests of the parts that all pages of the inspector have."""

import unittest

from inspector import InspectorTestCase
from support import wait
from selenium.webdriver.common.keys import Keys


class InspectorFrame(InspectorTestCase):
    def test_first_page(self):
        driver = self.looks("", "sign-ins-empty")
        driver.get(self.origin)
        self.assertEqual(driver.find_element("tag name", "h1").text, "Sign-ins")

    def test_skip_link_leads_past_the_menu(self):
        driver = self.browser()
        driver.get(self.page())
        body = driver.find_element("tag name", "body")
        body.send_keys(Keys.TAB)
        skip = driver.switch_to.active_element
        self.assertEqual(skip.text, "Skip to the content")
        skip.send_keys(Keys.ENTER)
        self.assertEqual(driver.switch_to.active_element.get_attribute("id"), "main")

    def test_many_windows_leave_connections_for_sign_ins(self):
        driver = self.browser()
        driver.set_page_load_timeout(10)
        for number in range(8):
            driver.switch_to.new_window("window")
            driver.get(self.page(["", "inbox"][number % 2]))
        driver.get(f"{self.origin}/appleid.apple.com/auth/keys")
        self.assertIn("kty", driver.page_source)
        driver.get(self.page())
        self.ask("appleid.apple.com/auth/authorize?client_id=nobody")
        wait(driver, lambda d: d.find_elements("css selector", "#flows > li"))

    def test_other_sites_can_link_here_but_not_frame(self):
        driver = self.browser()
        driver.get(self.callback)
        driver.execute_script(
            "const link=document.createElement('a');link.href=arguments[0];link.id='link';link.textContent='inspector';"
            "document.body.append(link);const frame=document.createElement('iframe');frame.src=arguments[0];"
            "document.body.append(frame)", self.page())
        frame = driver.find_element("tag name", "iframe")
        driver.switch_to.frame(frame)
        self.assertEqual(driver.find_elements("css selector", "nav.menu"), [])
        driver.switch_to.default_content()
        driver.find_element("id", "link").click()
        self.assertEqual(driver.find_element("tag name", "h1").text, "Sign-ins")


if __name__ == "__main__":
    unittest.main()
