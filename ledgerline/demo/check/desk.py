"""A member of staff at the admin's own pages: plain HTTP forms, as a browser without JavaScript."""

from html.parser import HTMLParser
from types import TracebackType
from typing import Self
from urllib.parse import urljoin

import httpx2


class Desk:
    """One signed-in browser; `with` closes it."""

    def __init__(self, base_url: str) -> None:
        self._browser = httpx2.Client(
            base_url=base_url, timeout=30, follow_redirects=True, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._browser.close()

    def sign_in(self, name: str, password: str) -> None:
        """Through the login form; raises `AssertionError` when the admin refuses."""
        page = self._browser.get("/admin/login/?next=/admin/")
        answer = self._submit(page, "username", {"username": name, "password": password})
        assert "/admin/login/" not in str(answer.url), f"the admin did not let {name} in"

    def resolve(self, fulfilment_id: int, *, verdict: str, evidence_reference: str) -> None:
        """Open the case page and give the verdict through its form."""
        page = self._browser.get(f"/admin/fulfilment/reconciliation/{fulfilment_id}/change/")
        assert page.status_code == 200, f"the case page answers {page.status_code}"
        fields = {
            "verdict": verdict,
            "evidence_reference": evidence_reference,
            "note": "Seen on the statement.",
        }
        answer = self._submit(page, "evidence_reference", fields)
        assert answer.status_code == 200, f"the verdict was answered with {answer.status_code}"

    def _submit(
        self, page: httpx2.Response, containing: str, fields: dict[str, str]
    ) -> httpx2.Response:
        form = _form_with(page.text, containing)
        target = urljoin(str(page.url), form.action)
        headers = {"Referer": str(page.url)}
        return self._browser.post(target, data=form.hidden | fields, headers=headers)


class _Form:
    def __init__(self, action: str) -> None:
        self.action = action
        self.names: set[str] = set()
        self.hidden: dict[str, str] = {}


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(_Form(attributes.get("action", "")))
        elif (
            tag in ("input", "textarea", "select", "button") and self.found and "name" in attributes
        ):
            form = self.found[-1]
            form.names.add(attributes["name"])
            if attributes.get("type") == "hidden":
                form.hidden[attributes["name"]] = attributes.get("value", "")


def _form_with(html: str, name: str) -> _Form:
    """The first form that has a field of this name."""
    parser = _Forms()
    parser.feed(html)
    for form in parser.found:
        if name in form.names:
            return form
    raise AssertionError(f"the page has no form with a field {name!r}: the action is not offered")
