"""Requests that a service declares."""

import contextlib
import unittest
from unittest import mock

import tree

tree.use_package()

import carpool  # noqa: E402
from carpool import requests  # noqa: E402


class RequestsTest(unittest.TestCase):
    def test_without_the_library_nothing_happens(self):
        with carpool.request():
            pass
        self.assertEqual(requests._find(), None)

    def test_a_request_ends_even_if_it_fails(self):
        told = []
        calls = [(lambda: told.append("begin"), lambda: told.append("end"))]
        with mock.patch.object(requests, "_calls", calls):
            with carpool.request():
                told.append("work")
            with contextlib.suppress(ValueError), carpool.request():
                raise ValueError
        self.assertEqual(told, ["begin", "work", "end", "begin", "end"])


if __name__ == "__main__":
    unittest.main()
