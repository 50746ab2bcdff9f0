// The frame that the web SDK keeps in the app's page. It hands the page what our handler sends: from a pop-up as a message,
// after a redirect by what the handler has kept.
(() => {
  'use strict';

  const {key, domains, kept} = document.getElementById('frame').dataset;
  const authorized = JSON.parse(domains);

  const isAuthorized = origin => {
    let url;
    try {
      url = new URL(origin);
    } catch {
      return false;
    }
    const host = url.hostname.replace(/^\[|\]$/g, '');
    return /^https?:$/.test(url.protocol) && (['localhost', '127.0.0.1', '::1'].includes(host)
      || authorized.some(domain => host === domain || host.endsWith(`.${domain}`)));
  };

  const noEvent = {
    type: 'unknown', eventId: null, urlResponse: null, sessionId: null, postBody: null, tenantId: null,
    error: {code: 'auth/no-auth-event', message: 'An internal error has occurred.'},
  };

  // Browsers may keep a frame of another site from storing anything.
  const hasStorage = () => {
    try {
      sessionStorage.setItem(`${key}:test`, '1');
      sessionStorage.removeItem(`${key}:test`);
      return true;
    } catch {
      return false;
    }
  };

  /** What the handler kept for this page, once. */
  const take = () => {
    if (kept) return JSON.parse(kept);
    if (!hasStorage()) return null;
    const event = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    return event && JSON.parse(event);
  };

  const begin = async (page, filter, origin) => {
    page.register('webStorageSupport', () => ({status: 'ACK', webStorageSupport: hasStorage()}), filter);
    const mayKnow = isAuthorized(await origin);
    const send = authEvent => page.send('authEvent', {type: 'authEvent', authEvent}, null, filter);
    window.addEventListener('message', ({data, origin, source}) => {
      if (origin !== location.origin || !data || data.eventType !== 'sendAuthEvent') return;
      if (data.data.storageKey !== key) return;
      // The answer is enough to finish the sign-in, so a page of an unauthorized domain gets only an error.
      send(mayKnow ? data.data.authEvent : {
        ...noEvent, type: data.data.authEvent.type, eventId: data.data.authEvent.eventId,
        error: {code: 'auth/unauthorized-domain', message: 'This domain is not authorized.'},
      });
      source.postMessage(
        {eventType: 'sendAuthEvent', eventId: data.eventId, status: 'ack', response: [{fulfilled: true}]}, origin);
    });
    send((mayKnow && take()) || noEvent);
  };

  const withGapi = (gapi, origin) => gapi.load('gapi.iframes', () => {
    const page = gapi.iframes.getContext().getParentIframe();
    if (page) begin(page, gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER, origin(page));
  });

  // A page that has Google's own gapi, because it has a network, says so in the frame's address, and must be spoken to with it.
  const google = new URLSearchParams(location.hash.slice(1));
  if (google.has('rpctoken')) {
    delete window.gapi;
    window.understudyFrame = () => withGapi(
      window.gapi, () => (location.ancestorOrigins && location.ancestorOrigins[0]) || google.get('parent'));
    const script = document.createElement('script');
    script.src = 'https://apis.google.com/js/api.js?onload=understudyFrame';
    document.head.appendChild(script);
  } else {
    withGapi(window.gapi, page => page.whenConnected);
  }
})();
