"""The interface to a web framework that social-auth-core needs."""

from social_core.storage import AssociationMixin, BaseStorage
from social_core.strategy import BaseStrategy


class Association(AssociationMixin):
    """Keeps the nonces of sign-ins that have begun."""

    kept = {}

    def __init__(self, nonce):
        self.id = nonce

    @classmethod
    def store(cls, server_url, association):
        cls.kept[server_url, association.handle] = cls(association.handle)

    @classmethod
    def get(cls, server_url=None, handle=None):
        found = cls.kept.get((server_url, handle))
        return [found] if found else []

    @classmethod
    def remove(cls, ids_to_delete):
        cls.kept = {key: kept for key, kept in cls.kept.items() if kept.id not in ids_to_delete}


class Storage(BaseStorage):
    association = Association


class Strategy(BaseStrategy):
    """A web framework that has nothing but settings, a session and the callback's parameters."""

    def __init__(self, settings):
        super().__init__(Storage)
        self.settings, self.session, self.data = settings, {}, {}

    def get_setting(self, name):
        return self.settings[name]

    def request_data(self, merge=True):
        return self.data

    def session_get(self, name, default=None):
        return self.session.get(name, default)

    def session_set(self, name, value):
        self.session[name] = value

    def session_pop(self, name):
        return self.session.pop(name, None)

    def build_absolute_uri(self, path=None):
        return path

    def request_host(self):
        return "example.com"

    def redirect(self, url):
        return url

    def authenticate(self, backend, *arguments, **keywords):
        return keywords["response"]
