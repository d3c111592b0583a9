from __future__ import annotations

import pytest

from footplate.testing.messages.catalog import Page, as_model, page_of

MODELS = [as_model(name) for name in "abcde"]


def ids(page: Page) -> tuple[str, bool]:
    return "".join(model.id for model in page.data), page.has_more


def test_pages_go_forward_and_backward() -> None:
    assert ids(page_of(MODELS, {})) == ("abcde", False)
    assert ids(page_of(MODELS, {"limit": "2"})) == ("ab", True)
    assert ids(page_of(MODELS, {"limit": "2", "after_id": "b"})) == ("cd", True)
    assert ids(page_of(MODELS, {"limit": "2", "after_id": "d"})) == ("e", False)
    assert ids(page_of(MODELS, {"limit": "2", "before_id": "d"})) == ("bc", True)
    assert ids(page_of(MODELS, {"limit": "2", "before_id": "c"})) == ("ab", False)


def test_a_page_names_its_first_and_last_model() -> None:
    page = page_of(MODELS, {"limit": "2"})
    assert (page.first_id, page.last_id) == ("a", "b")
    empty = page_of(MODELS, {"after_id": "e"})
    assert (empty.data, empty.first_id, empty.last_id) == ([], None, None)


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"after_id": "nobody"}])
def test_what_cannot_be_listed_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"limit|invalid literal|no model 'nobody'"):
        page_of(MODELS, query)
