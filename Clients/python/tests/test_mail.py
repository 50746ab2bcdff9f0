"""Tests of the inbox."""

from __future__ import annotations

import json
import smtplib
import threading
import urllib.request
from email.message import EmailMessage
from typing import Optional

import pytest

from understudy_client import ControlError, VerificationError, World


TEXT = "Your code is 123456. See https://example.com/a?b=c\n"


def send(world: World, subject: str, attachment: Optional[bytes] = None, text: str = TEXT) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "app@example.com", "max@example.org", subject
    message.set_content(text)
    if attachment is not None:
        message.add_attachment(attachment, maintype="application", subtype="pdf", filename="a.pdf")
    host, port = world.smtp()
    with smtplib.SMTP(host, port) as client:
        client.send_message(message)


def test_a_mail_by_smtp(world: World) -> None:
    send(world, "Welcome", b"%PDF")
    [mail] = world.mail(to="max@example.org")
    assert (mail.kind, mail.sender, mail.to, mail.subject) == ("mail", "app@example.com", "max@example.org", "Welcome")
    assert mail.recipients == ("max@example.org",)
    assert mail.codes == ("123456",) and mail.links == ("https://example.com/a?b=c",)
    assert mail.text is not None and mail.text.startswith("Your code") and mail.html is None
    assert mail.header("subject") == "Welcome" and mail.header("X-None") is None
    assert abs((mail.time - world.clock.now).total_seconds()) < 60
    [attachment] = mail.attachments
    assert (attachment.name, attachment.type, attachment.size) == ("a.pdf", "application/pdf", 4)
    assert mail.attachment(attachment.number) == b"%PDF"
    assert b"Subject: Welcome" in mail.raw()
    assert mail.relay is None
    mail.delete()
    assert world.mail() == []


def test_mails_are_found_by_every_condition(world: World) -> None:
    for subject in ("One", "Two"):
        send(world, subject)
    world.send_mail(sender="b@example.com", to="c@example.org", cc="d@example.org", subject="Three", html="<p>Hi")
    one, two, three = world.mail()
    assert world.mail(subject="on") == world.mail(limit=1, after=None, subject="one") == [one]
    assert world.mail(sender="b@*") == world.mail(to="c@example.org") == world.mail(text="hi") == [three]
    assert three.html == "<p>Hi\n" and "d@example.org" in three.recipients
    assert world.mail(after=one.id, limit=1) == [two]
    assert world.mail(kind="mail", limit=1) == [three]
    assert world.mail(kind="text") == []
    assert world.message(two.id) == two
    world.delete_mail(two.id)
    assert world.mail() == [one, three]
    with pytest.raises(ControlError) as raised:
        world.message(two.id)
    assert raised.value.status == 404
    world.delete_mail()
    assert world.mail() == []


def test_waiting_for_a_mail(world: World) -> None:
    with pytest.raises(VerificationError, match="no message came within 10ms .any.; the inbox is empty"):
        world.mail(wait="10ms")
    send(world, "Sooner")
    with pytest.raises(AssertionError, match="to 'a@b.example', subject 'later'.*\n  m1 to max@example.org: Sooner"):
        world.mail(to="a@b.example", subject="later", wait="10ms")
    sender = threading.Timer(0.2, send, (world, "Later"))
    sender.start()
    assert [mail.subject for mail in world.mail(subject="later", wait="30s")] == ["Later"]
    sender.join()


def test_a_long_mail_is_whole(world: World) -> None:
    text = "A line of a long mail\n" * 10_000
    send(world, "Long", text=text)
    [mail] = world.mail()
    assert mail.text == text


def test_a_reply(world: World) -> None:
    sent = world.send_mail(sender="app@example.com", to=["ada@example.com"], subject="Hello", text="Hi")
    assert sent.code == 250 and sent.reply.startswith("2.0.0 ok")
    answer = sent.messages[0].reply("Thank you", html="<p>Thank you")
    assert answer.messages[0].subject == "Re: Hello"
    assert answer.messages[0].to == "app@example.com" and (answer.messages[0].text or "").startswith("Thank you")
    other = sent.messages[0].reply("Me too", sender="grace@example.com")
    assert other.messages[0].sender == "grace@example.com"


def test_the_relay_refuses(world: World) -> None:
    world.order("apple", "approve", account="grace", share_email=False)
    hidden = world.apple.authorize("com.example.app", scopes=["email"], account="grace").email or ""
    assert hidden.endswith("@privaterelay.appleid.com")
    refused = world.send_mail(sender="stranger@example.net", to=[hidden], subject="Buy", text="now")
    assert refused.code == 550 and "unauthorized sender" in refused.reply
    assert refused.document["refused"][0]["to"] == hidden
    [mail] = world.send_mail(sender="news@example.com", to=[hidden], subject="News", text="Hi").messages
    assert mail.relay is not None and mail.relay["forwardedTo"] == "grace@example.com"
    assert hidden.encode() in mail.raw(forwarded=True)
    assert world.apple.relay(sender="news@example.com", to=hidden)["forwarded"] is True


def test_faults_of_mail(world: World) -> None:
    world.fault(match={"smtp": "RCPT"}, effect={"reply": {"code": 450, "status": "4.2.1", "text": "later"}})
    with pytest.raises(smtplib.SMTPRecipientsRefused, match="later"):
        send(world, "Welcome")
    send(world, "Welcome")


def test_a_text_message(world: World) -> None:
    url = f"http://{world.firebase_emulator_host}/identitytoolkit.googleapis.com/v1/accounts:sendVerificationCode?key=demo-api-key"
    body = json.dumps({"phoneNumber": "+15555550123"}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()
    [text] = world.mail(to="+15555550123", kind="text")
    assert len(text.codes) == 1 and text.codes[0] in (text.text or "")
    with pytest.raises(ControlError):
        text.raw()
