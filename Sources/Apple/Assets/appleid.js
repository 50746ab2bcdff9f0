// Stands in for Sign in with Apple JS, https://appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/en_US/appleid.auth.js.
// Written after https://developer.apple.com/documentation/signinwithapplejs and
// https://developer.apple.com/documentation/signinwithapple/displaying-sign-in-with-apple-buttons-on-the-web.
//
// The daemon appends the call: `address` is where appleid.apple.com is found in the way in which the script was asked for.
(address => {
  'use strict';

  const understudy = 'Understudy’s stand-in for Sign in with Apple JS';
  const authorization = `${address}/auth/authorize`;
  // Names of the members of ClientConfigI, and of the meta tags that may hold them.
  const texts = {
    clientId: 'client-id', scope: 'scope', redirectURI: 'redirect-uri', state: 'state', nonce: 'nonce',
  };
  const popupMeta = 'use-popup';

  let config = null;
  let waiting = null;

  // It isn't documented for which values `init` and `signIn` throw. Here they refuse values that aren't texts at once.
  const checked = values => {
    if (typeof values !== 'object' || values === null) throw new Error('The configuration should be an object.');
    for (const name of Object.keys(texts)) {
      const value = values[name];
      if (value !== undefined && value !== null && typeof value !== 'string') {
        throw new Error(`"${name}" should be a string, and is ${JSON.stringify(value)}.`);
      }
    }
    if (values.usePopup !== undefined && typeof values.usePopup !== 'boolean') {
      throw new Error(`"usePopup" should be a boolean, and is ${JSON.stringify(values.usePopup)}.`);
    }
    return values;
  };

  const meta = name => {
    const tag = document.querySelector(`meta[name="appleid-signin-${name}"]`);
    return tag ? tag.getAttribute('content') || '' : undefined;
  };

  const fromMeta = () => {
    const values = {};
    for (const [member, name] of Object.entries(texts)) if (meta(name) !== undefined) values[member] = meta(name);
    if (meta(popupMeta) !== undefined) values.usePopup = meta(popupMeta) === 'true';
    return values;
  };

  const url = ({clientId, redirectURI, scope, state, nonce}, mode) => {
    const query = [
      ['client_id', clientId], ['redirect_uri', redirectURI], ['response_type', 'code id_token'], ['scope', scope],
      ['state', state], ['nonce', nonce], ['response_mode', mode],
    ].filter(([, value]) => value !== undefined && value !== null && value !== '');
    return `${authorization}?${query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
  };

  // MARK: - The pop-up

  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, {detail}));

  const end = outcome => {
    if (!waiting) return;
    const {resolve, reject, timer, listener} = waiting;
    waiting = null;
    clearInterval(timer);
    window.removeEventListener('message', listener);
    if (outcome.error) {
      const failure = {error: outcome.error};
      tell('AppleIDSignInOnFailure', failure);
      reject(failure);
    } else {
      // Apple's page reads the event as `detail.data`, and pages in the wild as `detail` itself. It isn't listed, so that
      // `JSON.stringify(event.detail)` is what Apple sends.
      const detail = {...outcome};
      Object.defineProperty(detail, 'data', {value: outcome});
      tell('AppleIDSignInOnSuccess', detail);
      resolve(outcome);
    }
  };

  const answerOf = text => {
    try {
      const message = JSON.parse(text);
      return message.method === 'oauthDone' && message.data ? message.data : null;
    } catch {
      return null;
    }
  };

  const warnOfOrigin = redirectURI => {
    let origin = null;
    try {
      origin = new URL(redirectURI).origin;
    } catch {}
    if (origin !== location.origin) {
      console.warn(
        `${understudy}: the pop-up answers pages of the return URL’s origin only (${origin}), and this page is `
        + `${location.origin}. It won’t hear the answer.`);
    }
  };

  const openPopup = values => {
    const before = waiting && waiting.popup;
    end({error: 'user_trigger_new_signin_flow'});
    if (before) before.close();
    const [width, height] = [700, 700];
    const left = window.screenX + Math.max(0, (window.outerWidth - width) / 2);
    const top = window.screenY + Math.max(0, (window.outerHeight - height) / 2);
    return new Promise((resolve, reject) => {
      const popup = window.open(
        url(values, 'web_message'), '_blank', `popup,width=${width},height=${height},left=${left},top=${top}`);
      const listener = event => {
        if (event.source !== popup || event.origin !== new URL(address).origin) return;
        const answer = answerOf(event.data);
        if (!answer) return;
        popup.close();
        end(answer);
      };
      // A window that closes has sent its message before: it is heard first.
      const timer = setInterval(() => {
        if (popup && popup.closed) setTimeout(() => waiting && waiting.popup === popup && end({error: 'popup_closed_by_user'}), 100);
      }, 200);
      waiting = {popup, resolve, reject, timer, listener};
      if (!popup) return end({error: 'popup_blocked_by_browser'});
      window.addEventListener('message', listener);
      warnOfOrigin(values.redirectURI);
    });
  };

  // MARK: - The button

  const words = {'sign-in': 'Sign in with Apple', 'sign up': 'Sign up with Apple', 'sign-up': 'Sign up with Apple', continue: 'Continue with Apple'};
  const between = (least, value, most) => Math.min(most, Math.max(least, value));

  // It fills the element, in the sizes that Apple allows: 130 to 375 pixels wide, 30 to 64 high, and square where it is a logo.
  const draw = element => {
    const data = element.dataset;
    const size = (value, fallback) => (Number.isFinite(parseFloat(value)) ? parseFloat(value) : fallback);
    const isLogo = data.mode === 'logo-only';
    const isBlack = data.color !== 'white';
    const given = isLogo ? size(data.size, 0) : size(data.height, 0);
    const height = between(30, given || element.clientHeight, 64);
    const width = isLogo ? height : between(130, size(data.width, 0) || element.clientWidth || 140, 375);
    const label = words[data.type] || words['sign-in'];
    const button = document.createElement('div');
    button.setAttribute('role', 'button');
    button.setAttribute('tabindex', '0');
    button.setAttribute('aria-label', label);
    button.textContent = isLogo ? 'Apple' : label;
    const ink = isBlack ? '#fff' : '#000';
    Object.assign(button.style, {
      boxSizing: 'border-box', width: `${width}px`, height: `${height}px`, lineHeight: '1', cursor: 'pointer', userSelect: 'none',
      display: 'flex', alignItems: 'center', justifyContent: data.mode === 'left-align' ? 'flex-start' : 'center',
      paddingLeft: data.mode === 'left-align' ? `${size(data.labelPosition, height)}px` : '0', overflow: 'hidden', whiteSpace: 'nowrap',
      color: ink, background: isBlack ? '#000' : '#fff',
      border: data.border === 'true' ? `1px solid ${ink}` : '0',
      borderRadius: `${between(0, size(data.borderRadius, 15), 50)}px`,
      // The human interface guidelines' relation: the title is 43 hundredths of the button's height, if it fits.
      font: `500 ${isLogo ? height * 0.3 : Math.min(height * 0.43, width / 10)}px -apple-system, system-ui, sans-serif`,
    });
    element.replaceChildren(button);
  };

  const renderButton = () => {
    const element = document.getElementById('appleid-signin');
    if (!element) return;
    draw(element);
    if (element.understudyListens) return;
    element.understudyListens = true;
    // The event says how it ended; nobody waits for the promise. Wrappers listen at this element, too, and sign in themselves:
    // whoever has begun when the event is over goes on alone.
    const press = () => {
      const before = waiting;
      setTimeout(() => waiting === before
        && Promise.resolve(auth.signIn()).catch(failure => failure.error || console.error(failure)));
    };
    element.addEventListener('click', press);
    element.addEventListener('keydown', event => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      press();
    });
  };

  // MARK: - AppleID.auth

  const auth = {
    init(values) {
      config = {...fromMeta(), ...checked(values || {})};
      renderButton();
    },

    /** With a pop-up a promise of the answer; without one the page goes to Apple, and the answer to the return URL. */
    signIn(values) {
      try {
        if (!config) throw new Error('"AppleID.auth.init" must be called before "signIn".');
        const all = {...config, ...checked(values || {})};
        if (!all.clientId) throw new Error('"clientId" is missing.');
        if (!all.redirectURI) throw new Error('"redirectURI" is missing.');
        if (all.usePopup) return openPopup(all);
        location.assign(url(all, 'form_post'));
        return undefined;
      } catch (error) {
        return Promise.reject(error);
      }
    },

    renderButton,
  };

  window.AppleID = {auth};

  const begin = () => (meta('client-id') === undefined || config ? renderButton() : auth.init(fromMeta()));
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', begin);
  else begin();
})
