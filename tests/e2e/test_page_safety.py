"""What an agent writes is text: nothing of it runs, loads, or looks like a part of the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages import visit
from tests.e2e.server import running_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]

HOSTILE = """<script>window.ran = 1</script> <img src=x onerror="window.ran = 2"> <svg onload="window.ran = 3"></svg>

[click](javascript:window.ran=4) [data](data:text/html;base64,PHNjcmlwdD53aW5kb3cucmFuPTU8L3NjcmlwdD4=)
[vb](vbscript:x) ![picture](https://tracker.invalid/pixel.png)
<a href="https://example.invalid" onclick="window.ran=6">out</a>

<iframe srcdoc="<script>parent.ran = 7</script>"></iframe> <object data="x"></object> <embed src="x">
<style>body { display: none }</style> <link rel="stylesheet" href="https://evil.invalid/x.css">
<base href="https://evil.invalid/">
<form action="https://evil.invalid"><button formaction="javascript:window.ran=8">go</button>
<input autofocus onfocus="window.ran=9"></form>
<div class="request permission" id="page" style="position:fixed;inset:0" data-request="r1">Allow everything?</div>
<math><mtext><table><mglyph><style><img src=x onerror="window.ran=10"></style></mglyph></table></mtext></math>
<a href="&#106;avascript:window.ran=11">entities</a> <details open ontoggle="window.ran=12">x</details>

```html
<script>window.ran = 13</script>
```

the end of it"""


async def test_hostile_output_executes_nothing_and_fetches_nothing(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await person.start(tmp_path, prompt=HOSTILE)
            await person.sees("the end of it")
            said = page.locator(".said.agent")
            for link in await said.locator("a").all():
                target = await link.get_attribute("href") or ""
                assert target == "" or target.startswith(("https://", "mailto:")), target
                assert await link.get_attribute("rel") == "noopener noreferrer"
            found = await said.evaluate(
                """(root) => {
                  const tags = /^(SCRIPT|IFRAME|OBJECT|EMBED|STYLE|LINK|BASE|FORM|INPUT|IMG|MATH)$/;
                  const names = /^(on|style$|id$|data-request)/;
                  return [...root.querySelectorAll("*")].flatMap((each) => [
                    ...[each.tagName].filter((name) => tags.test(name)),
                    ...[...each.attributes].map((one) => one.name).filter((name) => names.test(name)),
                  ]);
                }"""
            )
            assert found == []
            assert await page.locator(".said.agent .request").count() == 0
            await expect(said.locator("pre")).to_contain_text("<script>window.ran = 13</script>")
            assert await page.evaluate("window.ran") is None
            assert await page.locator("body").is_visible()
            inline = (
                "const s = document.createElement('script'); s.textContent = 'window.ran = 14'; document.head.append(s)"
            )
            with pytest.raises(Exception, match=r"Trusted|policy|assignment"):
                await page.evaluate(f"() => {{ {inline} }}")
            assert await page.evaluate("window.ran") is None
            person.excuse("TrustedScript")
            person.excuse("Content Security Policy")


async def test_a_wrong_token_shows_the_gate_and_the_right_one_opens_it(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            page = person.page
            await page.goto(f"{server.url}/ui/#token=fp_wrong")
            await expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
            person.excuse("401")
            await page.get_by_label("Token").fill(server.token)
            await page.get_by_role("button", name="Open").click()
            await expect(page.get_by_text("Connected")).to_be_visible()
            person.excuse("401")
