// The handler's last page: it hands the answer to the frame in the page that opened this window, or keeps it for the frame
// in the page that the browser goes back to.
(() => {
  'use strict';

  const answer = document.getElementById('answer');
  const {event, key, app, apiKey, flow, url, keptAs, origin} = answer.dataset;
  const authEvent = JSON.parse(event);
  const say = text => (answer.textContent = text);

  /** The SDK's frames in the page that opened this window, those that can be looked into: of our own origin. */
  const frames = () => {
    const found = [];
    for (let index = 0; index < window.opener.frames.length; index++) {
      const frame = window.opener.frames[index];
      try {
        const query = new URLSearchParams(frame.location.search);
        if (query.get('apiKey') === apiKey && (!app || query.get('appName') === app)) found.push(frame);
      } catch {}
    }
    return found;
  };

  const toOpener = () => {
    const waiting = frames();
    for (const frame of waiting) {
      frame.postMessage(
        {eventType: 'sendAuthEvent', eventId: String(Date.now()), data: {authEvent, storageKey: key}}, location.origin);
    }
    // A page without the SDK's frame gets the answer itself. Its origin is that of the page that asked for the sign-in.
    if (!waiting.length && origin) window.opener.postMessage({eventType: 'sendAuthEvent', data: {authEvent}}, origin);
    say('You can close this window.');
    setTimeout(() => window.close(), 200);
  };

  const toRedirect = () => {
    try {
      sessionStorage.setItem(key, event);
    } catch {}
    // The page that comes next sees this address as its referrer.
    if (keptAs) history.replaceState(null, '', `${location.pathname}?understudy_answer=${keptAs}`);
    if (/^https?:/.test(url)) location.replace(url);
    else say('Nobody waits for this answer.');
  };

  if (flow === 'redirect' || (flow !== 'popup' && !window.opener)) toRedirect();
  else if (window.opener) toOpener();
  else say('The page that opened this window can’t be reached: it may send Cross-Origin-Opener-Policy: same-origin, which ends '
    + 'sign-in by pop-up at Firebase, too.');
})();
