"""A class of twenty at one daemon: each student has a world, and the trainer sees them all. The students' apps are the
example web app's sign-ins."""

import concurrent.futures
import threading
import time
import unittest
import urllib.parse

from person import Person
from providers import PROVIDERS, Refused
from settings import Settings
from understudy_client import Understudy

DAEMON = Understudy.from_environment()
NAMES = [
    "anna", "boris", "chloe", "dmitri", "elif", "farid", "greta", "hugo", "ines", "jan", "kim", "lena", "marek", "noor",
    "olga", "pavel", "quinn", "rosa", "sven", "tara"]


class Student:
    def __init__(self, name):
        self.name, self.world = name, DAEMON.world(name)
        self.settings = Settings(self.world.environment())

    def arrive(self):
        """Makes an account for the student at every provider."""
        self.world.accounts.add(
            self.name, name={"given": self.name.capitalize(), "family": "Student"}, email=f"{self.name}@school.example",
            emailVerified=True)

    def sign_in(self, provider, mistake=None):
        sign_in = PROVIDERS[provider](self.settings, mistake)
        person = Person(self.name, elsewhere=[self.settings.callback_url])
        back = person.agree(person.open(sign_in.begin()))
        if not isinstance(back, str):
            raise Refused(f"{back.status} {back.text}")
        sign_in.finish(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query)))
        return sign_in


class Class(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.students = [Student(name) for name in NAMES]

    def at_once(self, work):
        """Makes all students do something at the same time. Returns each one's result."""
        together = threading.Barrier(len(self.students))

        def do(student):
            together.wait(30)
            return work(student)

        with concurrent.futures.ThreadPoolExecutor(len(self.students)) as threads:
            return dict(zip(NAMES, threads.map(do, self.students)))

    def test_lesson(self):
        begun = time.monotonic()
        self.at_once(Student.arrive)

        # Three are up to something in their own worlds.
        by_name = {student.name: student for student in self.students}
        worlds = {student.name: student.world for student in self.students}
        worlds["boris"].fault(status=503, times=None)
        worlds["greta"].clock.set("2031-01-01T00:00:00Z")
        worlds["olga"].order("google", "cancel", times=None)
        worlds["olga"].fault(host="appleid.apple.com", path="/auth/token", error="invalid_grant", times=None)

        def lesson(student):
            results = {}
            for provider in PROVIDERS:
                try:
                    results[provider] = student.sign_in(provider).name
                except Refused as problem:
                    results[provider] = problem
            return results

        results = self.at_once(lesson)
        for name in NAMES:
            with self.subTest(name):
                expected = f"{name.capitalize()} Student"
                failed = {provider for provider, one in results[name].items() if isinstance(one, Refused)}
                if name == "boris":
                    self.assertEqual(failed, set(PROVIDERS))
                elif name == "olga":
                    self.assertEqual(failed, {"apple", "google", "firebase"})
                elif name == "greta":
                    # Her app signs Apple's client secret today, which is years ago there.
                    self.assertEqual(failed, {"apple"})
                    self.assertIn("expired", results[name]["apple"].reason)
                else:
                    self.assertEqual(results[name], {provider: expected for provider in PROVIDERS})

        # One forgets the PKCE verifier, and finds out why in a world of one's own.
        with self.assertRaises(Refused) as refused:
            by_name["tara"].sign_in("google", "verifier")
        self.assertIn("code_verifier", refused.exception.reason)

        # The trainer sees who is there, who was refused, and why.
        self.assertLessEqual(set(NAMES), {one["name"] for one in DAEMON.worlds()})
        refusals = DAEMON.requests(refused=True)
        self.assertEqual({one.world for one in refusals}, {"boris", "greta", "olga", "tara"})
        self.assertIn("code_verifier", [one for one in refusals if one.world == "tara"][-1].diagnosis)
        self.assertEqual(DAEMON.default.requests(), [])
        # Nobody's account is in another's world.
        for student in self.students:
            people = {one["id"] for one in student.world.accounts}
            self.assertEqual(people & set(NAMES), {student.name})

        # Boris begins again, and it works.
        worlds["boris"].reset()
        by_name["boris"].arrive()
        self.assertEqual(by_name["boris"].sign_in("apple").name, "Boris Student")

        for world in worlds.values():
            world.delete()
        self.assertEqual([one["name"] for one in DAEMON.worlds()], ["default"])
        print(f"walk: {len(NAMES)} students, {len(NAMES) * len(PROVIDERS)} sign-ins, {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    unittest.main()
