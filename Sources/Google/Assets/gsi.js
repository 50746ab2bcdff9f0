// Stands in for Google Identity Services, https://accounts.google.com/gsi/client. Written after
// https://developers.google.com/identity/gsi/web/reference/js-reference,
// https://developers.google.com/identity/gsi/web/reference/html-reference and
// https://developers.google.com/identity/oauth2/web/reference/js-reference.
//
// The daemon appends the call: `accounts` and `oauth` are where accounts.google.com and oauth2.googleapis.com are found in the way
// in which the script was asked for. Windows and frames answer by messages to the origin of the page, which the daemon has compared
// with those that the seed registers; so no other page hears them, whatever it says of itself.
((accounts, oauth) => {
  'use strict';

  const accountsOrigin = new URL(accounts).origin;
  const log = text => console.error(`[GSI_LOGGER]: ${text}`);
  const address = (path, fields) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined && value !== null && value !== '' && value !== false) query.set(name, value);
    }
    return `${accounts}${path}?${query}`;
  };
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
  const call = (callback, ...values) => {
    if (typeof callback === 'function') callback(...values);
  };

  // MARK: - What a page keeps: who signed in last, and how often One Tap was closed

  const stored = 'g_state';
  const state = () => {
    try {
      const cookie = document.cookie.split('; ').find(cookie => cookie.startsWith(`${stored}=`));
      return cookie ? JSON.parse(decodeURIComponent(cookie.slice(stored.length + 1))) : {};
    } catch {
      return {};
    }
  };
  const keep = changes => {
    const kept = JSON.stringify({...state(), ...changes});
    document.cookie = `${stored}=${encodeURIComponent(kept)}; path=/; max-age=15552000; SameSite=Lax`;
  };
  // https://developers.google.com/identity/gsi/web/guides/features#exponential_cooldown
  const hours = 3600e3;
  const cooldowns = [2 * hours, 24 * hours, 7 * 24 * hours, 28 * 24 * hours];

  const subject = token => {
    try {
      return JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/'))).sub;
    } catch {
      return undefined;
    }
  };

  // MARK: - Windows

  /** Opens a pop-up; `answered` gets its message, and `closed` is called when it is closed without one. */
  const openPopup = (url, size, answered, closed, blocked) => {
    const left = window.screenX + Math.max(0, (window.outerWidth - size.width) / 2);
    const top = window.screenY + Math.max(0, (window.outerHeight - size.height) / 2);
    const popup = window.open(url, '_blank', `popup,width=${size.width},height=${size.height},left=${left},top=${top}`);
    if (!popup) return blocked();
    let isOver = false;
    const end = () => {
      isOver = true;
      clearInterval(timer);
      window.removeEventListener('message', listener);
    };
    const listener = event => {
      if (event.source !== popup || event.origin !== accountsOrigin || isOver) return;
      let message;
      try {
        message = JSON.parse(event.data);
      } catch {
        return;
      }
      end();
      popup.close();
      answered(message);
    };
    window.addEventListener('message', listener);
    // A window that closes has sent its message before: it is heard first.
    const timer = setInterval(() => popup.closed && setTimeout(() => isOver || (end(), closed()), 100), 200);
    return popup;
  };

  // MARK: - google.accounts.id

  let config = null;
  let prompted = null;
  // Fields of the HTML form that Google doesn't know: they go to the server beside the credential.
  let own = {};

  // Not documented: values of the wrong type are told in the console, and nothing is done.
  const types = {
    client_id: 'string', callback: 'function', login_uri: 'string', nonce: 'string', login_hint: 'string', hd: 'string',
    context: 'string', ux_mode: 'string', auto_select: 'boolean', cancel_on_tap_outside: 'boolean', prompt_parent_id: 'string',
    state_cookie_domain: 'string', native_callback: 'function', use_fedcm_for_prompt: 'boolean', use_fedcm_for_button: 'boolean',
  };
  const fault = values => Object.keys(types).find(
    name => values[name] !== undefined && values[name] !== null && typeof values[name] !== types[name]);

  const csrf = 'g_csrf_token';
  const makeCSRFToken = () => {
    const token = random();
    // The answer is posted from Google's site, so the cookie has to come along from another one. How Google sets it isn't documented.
    const attributes = window.isSecureContext ? '; SameSite=None; Secure' : '';
    const domain = config.state_cookie_domain ? `; domain=${config.state_cookie_domain}` : '';
    document.cookie = `${csrf}=${token}; path=/${domain}${attributes}`;
    return token;
  };

  const loginURI = () => new URL(config.login_uri || location.href.split(/[?#]/)[0], location.href).href;

  const submit = fields => {
    const form = document.createElement('form');
    form.method = 'post';
    form.action = loginURI();
    for (const [name, value] of Object.entries(fields)) {
      const input = document.createElement('input');
      Object.assign(input, {type: 'hidden', name, value});
      form.append(input);
    }
    document.body.append(form);
    form.submit();
  };

  /** The credential goes to the page's callback, or without one to the server. */
  const deliver = answer => {
    const sub = subject(answer.credential);
    if (sub) keep({i_l: 0, i_p: undefined, i_s: sub});
    const response = {credential: answer.credential, select_by: answer.select_by};
    if (answer.state !== undefined) response.state = answer.state;
    if (config.callback) return call(config.callback, {clientId: config.client_id, client_id: config.client_id, ...response});
    submit({...own, ...response, [csrf]: makeCSRFToken()});
  };

  const request = more => ({
    client_id: config.client_id, origin: location.origin, nonce: config.nonce, login_hint: config.login_hint, hd: config.hd,
    context: config.context, session: state().i_s, ...more,
  });

  const explain = () => log('google.accounts.id.initialize() must be called with a client_id first.');

  /** Whether the page may use the script, and whether the next sign-in is ordered. */
  const askStatus = async () => {
    try {
      const answer = await fetch(address('/gsi/status', {client_id: config.client_id, origin: location.origin}), {credentials: 'omit'});
      return await answer.json();
    } catch {
      return {reason: 'unknown_reason'};
    }
  };

  // MARK: - The browser's own dialog: https://developers.google.com/identity/gsi/web/guides/fedcm-migration

  // A browser reads Google's well-known file without the name of a world.
  const hasDialog = isWanted => isWanted === true && 'IdentityCredential' in window && accounts.startsWith('https://')
    && !new URL(accounts).pathname.startsWith('/~');

  const askBrowser = (mode, mediation, signal) => {
    const context = ['signin', 'signup', 'use'].includes(config.context) ? config.context : 'signin';
    const provider = {configURL: `${accounts}/gsi/fedcm.json`, clientId: config.client_id};
    if (config.nonce) provider.params = {nonce: config.nonce};
    if (config.login_hint) provider.loginHint = config.login_hint;
    if (config.hd) provider.domainHint = /^\*$/.test(config.hd) ? 'any' : config.hd;
    return navigator.credentials.get({identity: {context, mode, providers: [provider]}, mediation, signal});
  };

  const pressButton = async options => {
    call(options.click_listener);
    if (!config) return explain();
    if (config.ux_mode !== 'redirect' && hasDialog(config.use_fedcm_for_button)) {
      const status = await askStatus();
      if (!status.reason && !status.isOrdered) {
        try {
          const credential = await askBrowser('active', 'required');
          deliver({credential: credential.token, select_by: 'btn', state: options.state});
        } catch (error) {
          log(`FedCM: ${error}`);
        }
        return;
      }
    }
    if (config.ux_mode === 'redirect') {
      location.assign(address('/gsi/select', request({
        ux_mode: 'redirect', login_uri: loginURI(), g_csrf_token: makeCSRFToken(), state: options.state,
      })));
      return;
    }
    openPopup(
      address('/gsi/select', request({ux_mode: 'popup', state: options.state})), {width: 500, height: 650},
      answer => answer.credential && deliver(answer), () => {}, () => log('Failed to open popup window.'));
  };

  const labels = {signin_with: 'Sign in with Google', signup_with: 'Sign up with Google', continue_with: 'Continue with Google', signin: 'Sign in'};
  const themes = {
    outline: {background: '#fff', color: '#3c4043', border: '1px solid #dadce0'},
    filled_blue: {background: '#1a73e8', color: '#fff', border: '1px solid #1a73e8'},
    filled_black: {background: '#202124', color: '#fff', border: '1px solid #202124'},
  };
  const heights = {large: 40, medium: 32, small: 20};

  const renderButton = (parent, options = {}) => {
    if (!parent) return log('renderButton() needs an element.');
    if (!config) explain();
    const isIcon = options.type === 'icon';
    const height = heights[options.size] || heights.large;
    const label = labels[options.text] || labels.signin_with;
    const width = Math.min(400, Math.max(0, parseFloat(options.width) || 0));
    const isRound = options.shape === 'pill' || options.shape === 'circle';
    const button = document.createElement('div');
    button.setAttribute('role', 'button');
    button.setAttribute('tabindex', '0');
    button.setAttribute('aria-label', label);
    button.textContent = isIcon ? 'G' : label;
    Object.assign(button.style, {
      boxSizing: 'border-box', display: 'flex', alignItems: 'center', cursor: 'pointer', userSelect: 'none', whiteSpace: 'nowrap',
      justifyContent: isIcon || options.logo_alignment === 'center' || !width ? 'center' : 'space-around',
      height: `${height}px`, minWidth: isIcon ? '0' : 'min-content', width: isIcon ? `${height}px` : width ? `${width}px` : 'max-content',
      maxWidth: '400px', padding: isIcon ? '0' : `0 ${height === 20 ? 8 : 12}px`, borderRadius: isRound ? `${height / 2}px` : '4px',
      font: `500 ${height === 20 ? 11 : 14}px/1 Roboto, Arial, sans-serif`, ...(themes[options.theme] || themes.outline),
    });
    const press = () => pressButton(options);
    button.addEventListener('click', press);
    button.addEventListener('keydown', event => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      press();
    });
    parent.replaceChildren(button);
  };

  // MARK: One Tap

  const moment = (type, reason) => ({
    getMomentType: () => type,
    isDisplayMoment: () => type === 'display',
    isDisplayed: () => type === 'display' && !reason,
    isNotDisplayed: () => type === 'display' && !!reason,
    getNotDisplayedReason: () => (type === 'display' ? reason : undefined),
    isSkippedMoment: () => type === 'skipped',
    getSkippedReason: () => (type === 'skipped' ? reason : undefined),
    isDismissedMoment: () => type === 'dismissed',
    getDismissedReason: () => (type === 'dismissed' ? reason : undefined),
  });

  const reasons = {
    unregistered_origin: 'The given origin is not allowed for the given client ID.',
    invalid_client: 'The OAuth client was not found.',
  };

  const endPrompt = (type, reason) => {
    if (!prompted) return;
    const {frame, listener, outside, dialog, tell} = prompted;
    prompted = null;
    if (dialog) dialog.abort();
    window.removeEventListener('message', listener);
    document.removeEventListener('click', outside, true);
    if (frame) frame.remove();
    tell(type, reason);
  };

  const place = frame => {
    const parent = config.prompt_parent_id && document.getElementById(config.prompt_parent_id);
    const isNarrow = window.innerWidth < 480;
    Object.assign(frame.style, {
      border: '0', colorScheme: 'light', background: '#fff', width: isNarrow && !parent ? '100%' : '391px', maxWidth: '100%', height: '0',
      boxShadow: '0 2px 10px rgba(0, 0, 0, .3)', borderRadius: isNarrow && !parent ? '12px 12px 0 0' : '8px', zIndex: '9999',
    });
    if (!parent) {
      Object.assign(frame.style, isNarrow ? {position: 'fixed', left: '0', bottom: '0'} : {position: 'fixed', top: '20px', right: '20px'});
    }
    (parent || document.body || document.documentElement).append(frame);
  };

  /** Asks by the browser's dialog, of which a page isn't told when and why it isn't shown. */
  const promptByBrowser = async (current, reason) => {
    if (reason) {
      log(reasons[reason] || reason);
      return endPrompt('skipped');
    }
    current.dialog = new AbortController();
    const mayBeSilent = config.auto_select === true && !!state().i_s;
    try {
      const credential = await askBrowser('passive', mayBeSilent ? 'optional' : 'required', current.dialog.signal);
      if (prompted !== current) return;
      current.dialog = null;
      endPrompt('dismissed', 'credential_returned');
      deliver({credential: credential.token, select_by: credential.isAutoSelected ? 'fedcm_auto' : 'fedcm'});
    } catch (error) {
      if (prompted !== current) return;
      log(`FedCM: ${error}`);
      endPrompt('skipped');
    }
  };

  const prompt = async listener => {
    if (prompted) endPrompt('dismissed', 'flow_restarted');
    const tell = (type, reason) => call(listener, moment(type, reason));
    const current = (prompted = {tell});
    const hide = reason => {
      if (reasons[reason]) log(reasons[reason]);
      if (prompted === current) endPrompt('display', reason);
    };
    if (!config || !config.client_id) return hide('missing_client_id');
    const byBrowser = hasDialog(config.use_fedcm_for_prompt);
    if (!byBrowser && state().i_p > Date.now()) return hide('suppressed_by_user');
    const status = await askStatus();
    if (prompted !== current) return;
    if (byBrowser && !status.isOrdered) return promptByBrowser(current, status.reason);
    if (status.reason) return hide(status.reason);
    const frame = document.createElement('iframe');
    frame.title = 'Sign in with Google Dialog';
    frame.src = address('/gsi/iframe', request({auto_select: config.auto_select && !!state().i_s}));
    place(frame);
    current.frame = frame;
    let isShown = false;
    current.listener = event => {
      if (event.source !== frame.contentWindow || event.origin !== accountsOrigin) return;
      let message;
      try {
        message = JSON.parse(event.data);
      } catch {
        return;
      }
      if (message.height) {
        frame.style.height = `${Math.min(message.height, window.innerHeight)}px`;
        if (!isShown) tell('display');
        isShown = true;
      } else if (message.credential) {
        if (!isShown) tell('display');
        endPrompt('dismissed', 'credential_returned');
        deliver(message);
      } else {
        const level = state().i_l || 0;
        if (message.reason === 'user_cancel') {
          keep({i_l: Math.min(level + 1, cooldowns.length), i_p: Date.now() + cooldowns[Math.min(level, cooldowns.length - 1)]});
        }
        endPrompt('skipped', message.reason || 'issuing_failed');
      }
    };
    // A frame hears its own clicks: these are the page's.
    current.outside = () => isShown && config.cancel_on_tap_outside !== false && endPrompt('skipped', 'tap_outside');
    window.addEventListener('message', current.listener);
    document.addEventListener('click', current.outside, true);
  };

  const id = {
    initialize(values = {}) {
      const wrong = fault(values);
      if (wrong) return log(`The value of ${wrong} is invalid: expected a ${types[wrong]}.`);
      if (!values.client_id) log('Parameter client_id is not set correctly.');
      config = values;
      own = {};
    },
    prompt,
    renderButton,
    disableAutoSelect: () => {
      keep({i_s: undefined});
      if ('IdentityCredential' in window) navigator.credentials.preventSilentAccess();
    },
    storeCredential: (credential, callback) => {
      // https://developer.mozilla.org/docs/Web/API/PasswordCredential
      const saved = window.PasswordCredential && navigator.credentials
        ? navigator.credentials.store(new PasswordCredential(credential)) : Promise.resolve();
      Promise.resolve(saved).catch(() => {}).then(() => call(callback));
    },
    cancel: () => endPrompt('dismissed', 'cancel_called'),
    async revoke(hint, callback) {
      if (!config) return explain();
      let response;
      try {
        const answer = await fetch(`${accounts}/gsi/revoke`, {
          method: 'POST', credentials: 'omit', body: new URLSearchParams({client_id: config.client_id, hint: hint || ''}),
        });
        const body = await answer.json();
        response = answer.ok ? {successful: true} : {successful: false, error: body.error};
      } catch {
        response = {successful: false, error: 'unknown_error'};
      }
      call(callback, response);
    },
    setLogLevel: () => {},
  };

  // MARK: - google.accounts.oauth2

  const authorize = (values, type, more) => address('/o/oauth2/v2/auth', {
    client_id: values.client_id, response_type: type, scope: values.scope, state: values.state, login_hint: values.login_hint || values.hint,
    hd: values.hd || values.hosted_domain, include_granted_scopes: values.include_granted_scopes === false ? 'false' : 'true', ...more,
  });

  const relay = () => `storagerelay://${location.protocol.slice(0, -1)}/${location.host}?id=auth${Math.floor(Math.random() * 1e6)}`;

  const ask = (values, url) => openPopup(
    url, {width: 500, height: 600}, answer => {
      const response = {...answer};
      if (response.expires_in !== undefined) response.expires_in = Number(response.expires_in);
      call(values.callback, response);
    },
    () => call(values.error_callback, {type: 'popup_closed', message: 'Popup window closed'}),
    () => call(values.error_callback, {type: 'popup_failed_to_open', message: 'Failed to open popup window. Maybe blocked by the browser?'}));

  const needs = (values, names) => {
    const missing = names.find(name => !values || typeof values[name] !== 'string' || !values[name]);
    if (missing) throw new Error(`Missing required parameter ${missing}.`);
  };

  const oauth2 = {
    initCodeClient(values) {
      needs(values, ['client_id', 'scope']);
      return {
        requestCode() {
          const more = {access_type: 'offline', prompt: values.select_account ? 'select_account' : undefined};
          if (values.ux_mode === 'redirect') {
            location.assign(authorize(values, 'code', {...more, redirect_uri: values.redirect_uri || location.href.split(/[?#]/)[0]}));
          } else {
            ask(values, authorize(values, 'code', {...more, redirect_uri: relay()}));
          }
        },
      };
    },
    initTokenClient(values) {
      needs(values, ['client_id', 'scope']);
      return {
        requestAccessToken(overridden = {}) {
          const all = {...values, ...overridden};
          // "When successful, account selection is skipped."
          const standard = all.login_hint || all.hint ? undefined : 'select_account';
          ask(values, authorize(all, 'token', {prompt: all.prompt === undefined ? standard : all.prompt, redirect_uri: relay()}));
        },
      };
    },
    hasGrantedAllScopes: (response, ...scopes) => {
      const granted = ((response && response.scope) || '').split(' ');
      return scopes.every(scope => granted.includes(scope));
    },
    hasGrantedAnyScope: (response, ...scopes) => {
      const granted = ((response && response.scope) || '').split(' ');
      return scopes.some(scope => granted.includes(scope));
    },
    async revoke(token, done) {
      let response;
      try {
        const answer = await fetch(`${oauth}/revoke`, {
          method: 'POST', credentials: 'omit', body: new URLSearchParams({token: token || ''}),
        });
        response = answer.ok ? {successful: true} : {successful: false, ...(await answer.json())};
      } catch {
        response = {successful: false, error: 'unknown_error'};
      }
      call(done, response);
    },
  };

  window.google = window.google || {};
  window.google.accounts = {...window.google.accounts, id, oauth2};

  // MARK: - The HTML form

  const named = name => (name || '').split('.').reduce((object, part) => object && object[part], window);
  const flag = value => (value === undefined ? undefined : value === 'true');

  // Other data attributes are the page's own: `data-your_own_param_1_to_login`.
  const texts = ['client_id', 'login_uri', 'nonce', 'context', 'ux_mode', 'login_hint', 'hd', 'prompt_parent_id', 'state_cookie_domain'];
  const flags = ['auto_select', 'cancel_on_tap_outside', 'itp_support', 'use_fedcm_for_prompt', 'use_fedcm_for_button'];
  const known = [
    ...texts, ...flags, 'auto_prompt', 'callback', 'moment_callback', 'native_callback', 'native_login_uri', 'native_id_param',
    'native_password_param', 'skip_prompt_cookie', 'allowed_parent_origin', 'intermediate_iframe_close_callback',
  ];

  const begin = () => {
    const onload = document.getElementById('g_id_onload');
    if (onload && onload.dataset.client_id !== undefined) {
      const data = onload.dataset;
      const values = {};
      for (const name of texts) if (data[name] !== undefined) values[name] = data[name];
      for (const name of flags) if (data[name] !== undefined) values[name] = flag(data[name]);
      if (data.callback) values.callback = response => call(named(data.callback), response);
      id.initialize(values);
      own = Object.fromEntries(Object.entries(data).filter(([name]) => !known.includes(name)));
      for (const element of document.querySelectorAll('.g_id_signin')) {
        const options = {...element.dataset};
        if (options.click_listener) options.click_listener = () => call(named(element.dataset.click_listener));
        renderButton(element, options);
      }
      for (const element of document.querySelectorAll('.g_id_signout')) element.addEventListener('click', id.disableAutoSelect);
      const skips = data.skip_prompt_cookie && document.cookie.split('; ').some(cookie => cookie.startsWith(`${data.skip_prompt_cookie}=`));
      if (flag(data.auto_prompt) !== false && !skips) prompt(data.moment_callback && (event => call(named(data.moment_callback), event)));
    }
    call(window.onGoogleLibraryLoad);
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', begin);
  else begin();
})
