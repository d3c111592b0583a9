"""The page as an app: told by push while nobody looks, one stream for all tabs, a shell without a server."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, CDPSession, Page, expect

from footplate.testing.push import ScriptedPush
from tests.e2e.pages import PATIENCE_MS, PHONE, PICTURES, Visit, visit
from tests.e2e.server import running_server
from tests.e2e.test_page_looks import serious_issues

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]

READY = "navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller !== null)"
SUBSCRIBE = """(given) => {
  let made = null;
  const subscription = { toJSON: () => given, unsubscribe: async () => { made = null; return true; } };
  PushManager.prototype.subscribe = async (options) => {
    window.subscribedBy = new Uint8Array(options.applicationServerKey).length;
    return (made = subscription);
  };
  PushManager.prototype.getSubscription = async () => made;
}"""
"""The vendor's push service cannot be had here: its part of the browser is played by the scripted one."""

SHOWN = """async () => {
  const registration = await navigator.serviceWorker.ready;
  return (await registration.getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, data }));
}"""


async def controlled(page: Page) -> None:
    """Wait until the page's requests go through its service worker."""
    await until(page, READY)


async def until(page: Page, script: str) -> None:
    """Wait until the script gives a true value (`wait_for_function` takes a promise for one)."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_MS / 1000
    while not await page.evaluate(script):
        assert asyncio.get_running_loop().time() < deadline, script
        await asyncio.sleep(0.05)


async def deliver(wire: CDPSession, origin: str, payload: bytes) -> None:
    """A push message, as the browser gets it from its vendor's service and has decrypted it."""
    registration = await registered(wire)
    told = {"origin": origin, "registrationId": registration, "data": payload.decode()}
    await wire.send("ServiceWorker.deliverPushMessage", told)


async def registered(wire: CDPSession) -> str:
    """The id that the browser's debugging protocol has for the page's worker."""
    found: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def hear(told: dict[str, list[dict[str, str]]]) -> None:
        for each in told["registrations"]:
            if not found.done():
                found.set_result(each["registrationId"])

    wire.on("ServiceWorker.workerRegistrationUpdated", hear)
    await wire.send("ServiceWorker.enable")
    return await asyncio.wait_for(found, 20)


async def notifications(page: Page) -> list[dict[str, object]]:
    """What stands on the lock screen."""
    found: list[dict[str, object]] = await page.evaluate(SHOWN)
    return found


async def test_a_browser_is_told_by_push_and_a_tap_leads_to_the_session(browser: Browser, tmp_path: Path) -> None:
    with ScriptedPush.start() as service:
        env = {"FOOTPLATE__PUSH__SERVICES": '["127.0.0.1"]'}
        with running_server(tmp_path, env=env) as server:
            options = {"service_workers": "allow", "permissions": ["notifications"]}
            async with visit(browser, server, **options) as person:
                page = person.page
                await page.add_init_script(f"({SUBSCRIBE})({json.dumps(service.subscribe().to_json())})")
                await person.arrive()
                await controlled(page)
                await person.start(tmp_path)
                here = page.url
                await page.locator(".session-head").get_by_role("button", name=re.compile("^Actions for")).click()
                await page.get_by_role("menuitem", name="Tell me about it").click()
                await expect(page.get_by_text("This browser tells you about the session.")).to_be_visible()
                assert await page.evaluate("window.subscribedBy") == 65
                await person.say("permission")
                told = await asyncio.to_thread(service.next)
                notice = json.loads(told.payload)
                assert (notice["event"], here.rpartition("/")[2]) == ("needs_you", notice["session"])

                wire = await person.context.new_cdp_session(page)
                await page.get_by_role("link", name="Notifications").click()
                await expect(page.get_by_role("button", name="Tell me no more")).to_be_visible()
                await deliver(wire, server.url, told.payload)
                await until(page, f"({SHOWN})().then((found) => found.length === 1)")
                [shown] = await notifications(page)
                assert shown["tag"] == notice["session"]
                assert str(shown["title"]).endswith("needs you")
                assert shown["body"] == notice["text"]
                await person.picture("notifications")
                assert await serious_issues(page) == []
                await tap(person.context)
                await expect(page).to_have_url(here)
                await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
                assert await notifications(page) == []

                await page.get_by_role("link", name="Notifications").click()
                await page.get_by_role("button", name="Send a test message").click()
                await expect(page.get_by_text("The push service took the message.")).to_be_visible()
                assert json.loads((await asyncio.to_thread(service.next)).payload)["text"] == "It works."
                await page.get_by_role("button", name="Switch off").click()
                await expect(page.get_by_text("None yet")).to_be_visible()
                await page.reload()
                await expect(page.get_by_text("None yet")).to_be_visible()
                await page.set_viewport_size(PHONE)
                await person.picture("phone-notifications")


async def tap(context: BrowserContext) -> None:
    """Tap the notification: the browser has no protocol for it, so its worker is told of the tap."""
    worker = context.service_workers[0]
    await worker.evaluate(
        """async () => {
          const [notification] = await self.registration.getNotifications();
          self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
        }"""
    )


async def test_many_tabs_share_one_stream_and_the_shell_opens_without_the_server(
    browser: Browser, tmp_path: Path
) -> None:
    with running_server(tmp_path, "--new-token") as server:
        port, token = server.url.rpartition(":")[2], server.token
        async with visit(browser, server, service_workers="allow") as person:
            page = person.page
            streams: list[str] = []
            person.context.on("request", lambda asked: streams.append(asked.url) if _is_news(asked.url) else None)
            await person.arrive()
            await controlled(page)
            await person.start(tmp_path)
            others = [await person.context.new_page() for _ in range(7)]
            for other in others:
                await other.goto(f"{server.url}/ui/")
                await expect(other.get_by_text("Connected", exact=True)).to_be_attached()
            await person.say("permission")
            for other in others:
                await expect(other).to_have_title(re.compile(r"^\(1\)"))
            assert len(streams) == 1
            await page.close()
            await others[0].get_by_role("button", name="Allow once").click()
            for other in others:
                await expect(other).to_have_title(re.compile("^Footplate"))
            assert len(streams) == 2
            for other in others[1:]:
                await other.close()
            await without_the_server(person, others[0])
            with running_server(tmp_path, "--port", port, "--token", token):
                await expect(others[0].get_by_text("Connected", exact=True)).to_be_visible()
                await expect(others[0].locator(".session-row")).to_have_count(1)


def _is_news(url: str) -> bool:
    return url.endswith("/api/events")


async def without_the_server(person: Visit, page: Page) -> None:
    """The browser would install it; the server dies; the page still opens and says so."""
    wire = await person.context.new_cdp_session(page)
    errors = await wire.send("Page.getInstallabilityErrors")
    assert [each["errorId"] for each in errors["installabilityErrors"] if each["errorId"] != "in-incognito"] == []
    person.outages = True
    person.server.process.kill()
    person.server.process.wait()
    await page.reload()
    await expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
    await expect(page.get_by_role("button", name="New session").first).to_be_visible()
    await page.screenshot(path=PICTURES / "offline.png")
