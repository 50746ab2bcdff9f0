"""A person at a simple browser with cookies, redirects and forms. The module needs only Python."""

import html.parser
import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request


class Form:
    def __init__(self, attributes):
        self.action, self.method = attributes.get("action") or "", (attributes.get("method") or "get").lower()
        # These fields are sent with each button. Boxes count as ticked.
        self.id, self.fields, self.buttons = attributes.get("id"), [], []


class Forms(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, pairs):
        attributes = dict(pairs)
        if tag == "form":
            self.found.append(Form(attributes))
        elif self.found and attributes.get("name"):
            field = (attributes["name"], attributes.get("value") or "")
            kind = attributes.get("type") or "text"
            if tag == "button":
                self.found[-1].buttons.append(field)
            elif tag == "input" and (kind in ("hidden", "text", "checkbox") or kind == "radio" and "checked" in attributes):
                self.found[-1].fields.append(field)


class Page:
    def __init__(self, answer, text):
        self.url, self.status, self.headers, self.text = answer.url, answer.status, answer.headers, text
        self.forms = Forms(text).found

    def form_with(self, *button):
        return next((form for form in self.forms if button in form.buttons), None)


class NotByItself(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Person:
    """Someone who signs in as `account` wherever asked. An address that begins with one of `elsewhere` ends the walk, which then
    results in that address instead of a page: with what was to be posted there as its query."""

    def __init__(self, account="ada", elsewhere=()):
        self.account, self.elsewhere = account, tuple(elsewhere)
        # Browsers send Secure cookies to http://localhost, too.
        policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https"))
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(policy))
        self.opener = urllib.request.build_opener(NotByItself, cookies)

    def request(self, url, fields=None):
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        headers = {} if fields is None else {"Referer": url}
        try:
            answer = self.opener.open(urllib.request.Request(url, data, headers), timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return Page(answer, answer.read().decode(errors="replace"))

    def open(self, url, fields=None):
        """Goes to an address and on, by redirects and by the forms that a script sends off, to where it ends."""
        for _ in range(20):
            if self.elsewhere and url.startswith(self.elsewhere):
                return f"{url}?{urllib.parse.urlencode(fields)}" if fields else url
            page = self.request(url, fields)
            form = next((form for form in page.forms if form.id == "answer"), None)
            if "Location" in page.headers:
                url, fields = urllib.parse.urljoin(page.url, page.headers["Location"]), None
            elif form:
                url, fields = urllib.parse.urljoin(page.url, form.action), form.fields
            else:
                return page
        raise AssertionError(f"{url} leads in circles")

    def submit(self, page, form, *button):
        url, fields = urllib.parse.urljoin(page.url, form.action), [*form.fields, *([button] if button else [])]
        return self.open(url, fields) if form.method == "post" else self.open(f"{url}?{urllib.parse.urlencode(fields)}")

    def agree(self, page):
        """Answers a provider's pages, as long as they ask: chooses the account, and agrees."""
        answers = [("account", self.account), ("authorize", "1"), ("action", "continue")]
        while isinstance(page, Page):
            button = next((button for button in answers if page.form_with(*button)), None)
            if not button:
                break
            page = self.submit(page, page.form_with(*button), *button)
        return page

    def cancel(self, page):
        """Presses Cancel, when the account has been chosen where that comes first."""
        button = ("action", "cancel")
        if not page.form_with(*button) and page.form_with("account", self.account):
            page = self.submit(page, page.form_with("account", self.account), "account", self.account)
            button = ("authorize", "0")
        return self.submit(page, page.form_with(*button), *button)
