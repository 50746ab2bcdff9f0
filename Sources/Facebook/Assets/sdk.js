// Stands in for Facebook's SDK for JavaScript, https://connect.facebook.net/en_US/sdk.js. Written after
// https://developers.facebook.com/docs/javascript/reference/v22.0 and https://developers.facebook.com/docs/facebook-login/web.
//
// The daemon appends the call: `www` and `graph` are where www.facebook.com and graph.facebook.com are found in the way in which the
// script was asked for. The login dialog answers by a message to the origin of the page, which the daemon has compared with those that
// the seed allows; so no other page hears it, whatever it says of itself.
((www, graph) => {
  'use strict';

  const understudy = 'Understudy’s stand-in for Facebook’s SDK';
  const dialogOrigin = new URL(www).origin;
  const call = (callback, ...values) => {
    if (typeof callback === 'function') callback(...values);
  };
  const isVersion = text => /^v\d+\.\d+$/.test(text || '');

  let app = null;
  let current = {status: 'unknown', authResponse: null};
  let isLooked = false;

  // MARK: - Events

  const subscribers = new Map();
  const Event = {
    subscribe(name, callback) {
      subscribers.set(name, [...(subscribers.get(name) || []), callback]);
    },
    unsubscribe(name, callback) {
      subscribers.set(name, (subscribers.get(name) || []).filter(other => other !== callback));
    },
    clear: name => subscribers.delete(name),
  };
  const fire = (name, value) => (subscribers.get(name) || []).forEach(callback => call(callback, value));

  /** Remembers how it stands, and tells those who asked for it: https://developers.facebook.com/docs/reference/javascript/FB.Event.subscribe */
  const become = status => {
    const before = current;
    current = status;
    const [old, now] = [before.authResponse, status.authResponse];
    if (before.status !== status.status) fire('auth.statusChange', status);
    if ((old && old.accessToken) !== (now && now.accessToken)) fire('auth.authResponseChange', status);
    if (!old && now) fire('auth.login', status);
    if (old && !now) fire('auth.logout', status);
    return status;
  };

  // MARK: - What the page keeps: a signed request, by which the daemon knows its person again

  const kept = () => `fbsr_${app.appId}`;
  const keep = signedRequest => {
    try {
      if (signedRequest) localStorage.setItem(kept(), signedRequest);
      else localStorage.removeItem(kept());
    } catch {}
    // For the server: https://developers.facebook.com/docs/javascript/reference/FB.init
    if (app.cookie) document.cookie = `${kept()}=${signedRequest || ''}; path=/; SameSite=Lax; max-age=${signedRequest ? 7200 : 0}`;
  };
  const keptRequest = () => {
    try {
      return localStorage.getItem(kept());
    } catch {
      return null;
    }
  };

  const payload = signedRequest => {
    try {
      return JSON.parse(atob(signedRequest.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')));
    } catch {
      return {};
    }
  };

  const connected = answer => {
    const authResponse = {
      accessToken: answer.access_token, userID: payload(answer.signed_request).user_id, expiresIn: Number(answer.expires_in),
      signedRequest: answer.signed_request, graphDomain: answer.graph_domain,
      data_access_expiration_time: Number(answer.data_access_expiration_time),
    };
    if (answer.granted_scopes !== undefined) authResponse.grantedScopes = answer.granted_scopes;
    keep(answer.signed_request);
    return {status: 'connected', authResponse};
  };

  const isReady = () => {
    if (app) return true;
    console.error('FB.init must be called with an appId first.');
    return false;
  };

  // MARK: - Login

  const takesLogin = () => {
    // "The method FB.login can no longer be called from http pages", but for localhost.
    if (location.protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)) return true;
    console.error('The method FB.login can no longer be called from http pages. https://developers.facebook.com/blog/post/2018/06/08/enforce-https-facebook-login/');
    return false;
  };

  const login = (callback, options = {}) => {
    if (!isReady() || !takesLogin()) return;
    if (current.status === 'connected' && !options.scope && !options.auth_type && !options.config_id) {
      return call(callback, current);
    }
    const withCode = options.response_type === 'code';
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({
      app_id: app.appId, client_id: app.appId, display: 'popup', scope: options.scope, auth_type: options.auth_type,
      auth_nonce: options.auth_nonce, config_id: options.config_id, state: options.state, sdk: 'joey',
      return_scopes: options.return_scopes ? 'true' : undefined,
      response_type: withCode ? 'code' : 'token,signed_request,graph_domain',
      redirect_uri: `https://staticxx.facebook.com/x/connect/xd_arbiter/?version=46&origin=${encodeURIComponent(location.origin)}`,
    })) if (value !== undefined && value !== null && value !== '') query.set(name, value);
    const [width, height] = [600, 679];
    const left = window.screenX + Math.max(0, (window.outerWidth - width) / 2);
    const top = window.screenY + Math.max(0, (window.outerHeight - height) / 2);
    const popup = window.open(
      `${www}/${app.version}/dialog/oauth?${query}`, '_blank', `popup,width=${width},height=${height},left=${left},top=${top}`);
    let isOver = false;
    const end = status => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      window.removeEventListener('message', listener);
      call(callback, status);
    };
    const listener = event => {
      if (event.source !== popup || event.origin !== dialogOrigin) return;
      let answer;
      try {
        answer = JSON.parse(event.data);
      } catch {
        return;
      }
      popup.close();
      if (answer.access_token) return end(become(connected(answer)));
      // Facebook Login for Business: the code is for the server.
      if (answer.code) return end({status: 'connected', authResponse: {code: answer.code, userID: null, expiresIn: null}});
      end(current.status === 'connected' ? current : {status: current.status, authResponse: null});
    };
    const refused = () => end({status: current.status === 'connected' ? 'connected' : 'unknown', authResponse: current.authResponse});
    // A window that closes has sent its message before: it is heard first.
    const timer = setInterval(() => (!popup || popup.closed) && setTimeout(refused, 100), 200);
    window.addEventListener('message', listener);
    if (!popup) console.error('FB.login() called, but the pop-up was blocked by the browser.');
  };

  let looking = null;
  const look = async () => {
    const signedRequest = keptRequest();
    if (!signedRequest) return become({status: 'unknown', authResponse: null});
    try {
      const answer = await fetch(`${www}/x/oauth/status`, {
        method: 'POST', credentials: 'omit', body: new URLSearchParams({client_id: app.appId, signed_request: signedRequest}),
      });
      const body = await answer.json();
      if (body.status === 'connected') return become(connected(body));
      if (body.error) console.error(body.error);
      return become({status: body.status || 'unknown', authResponse: null});
    } catch (error) {
      console.error(error);
      return become({status: 'unknown', authResponse: null});
    }
  };

  const getLoginStatus = (callback, isForced) => {
    if (!isReady()) return;
    if (isLooked && !isForced && !looking) return void setTimeout(() => call(callback, current));
    looking = looking || look().finally(() => {
      looking = null;
      isLooked = true;
    });
    looking.then(() => call(callback, current));
  };

  const logout = callback => {
    if (!isReady()) return;
    const token = current.authResponse && current.authResponse.accessToken;
    if (!token) {
      console.error('FB.logout() called without an access token.');
      return;
    }
    fetch(`${www}/x/oauth/logout`, {
      method: 'POST', credentials: 'omit', body: new URLSearchParams({client_id: app.appId, access_token: token}),
    }).catch(error => console.error(error)).then(() => {
      keep(null);
      call(callback, become({status: 'unknown', authResponse: null}));
    });
  };

  // MARK: - The Graph API

  /** `FB.api(path, method?, parameters?, callback?)`: https://developers.facebook.com/docs/javascript/reference/FB.api */
  const api = (path, ...rest) => {
    const callback = rest.find(value => typeof value === 'function');
    const named = rest.find(value => typeof value === 'string');
    const given = rest.find(value => typeof value === 'object' && value !== null) || {};
    const method = (named || given.method || 'get').toUpperCase();
    const parameters = {...given};
    if (typeof path === 'object') {
      Object.assign(parameters, path);
      path = '/';
    }
    if (!parameters.access_token && current.authResponse) parameters.access_token = current.authResponse.accessToken;
    const fields = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value === undefined || value === null || name === 'method') continue;
      fields.set(name, typeof value === 'object' ? JSON.stringify(value) : value);
    }
    const [way, query] = path.replace(/^\//, '').split('?');
    for (const [name, value] of new URLSearchParams(query || '')) fields.set(name, value);
    const version = isVersion(way.split('/')[0]) || !app ? '' : `/${app.version}`;
    const address = `${graph}${version}/${way}`;
    const isGet = method === 'GET';
    if (!isGet && method !== 'POST') fields.set('method', method.toLowerCase());
    fetch(isGet ? `${address}?${fields}` : address, {method: isGet ? 'GET' : 'POST', credentials: 'omit', body: isGet ? undefined : fields})
      .then(answer => answer.json())
      .catch(() => ({error: {message: 'unknown error', type: 'http', code: 0}}))
      .then(body => call(callback, body));
  };

  // MARK: - The login button: https://developers.facebook.com/docs/facebook-login/web/login-button

  const sizes = {small: [20, 11], medium: [28, 13], large: [40, 16]};

  const draw = element => {
    const value = name => element.getAttribute(`data-${name}`) || element.getAttribute(name.replace(/-/g, '_')) || element.getAttribute(name);
    const [height, font] = sizes[value('size')] || sizes.medium;
    const button = document.createElement('div');
    button.setAttribute('role', 'button');
    button.setAttribute('tabindex', '0');
    const isIn = () => current.status === 'connected' && value('auto-logout-link') === 'true';
    const label = () => (button.textContent = isIn() ? 'Log out'
      : value('button-type') === 'continue_with' ? 'Continue with Facebook'
        : value('size') === 'large' ? 'Log in with Facebook' : 'Log In');
    label();
    Object.assign(button.style, {
      display: 'inline-flex', alignItems: 'center', justifyContent: 'center', boxSizing: 'border-box', height: `${height}px`,
      width: value('width') ? /^\d+$/.test(value('width')) ? `${value('width')}px` : value('width') : 'auto', padding: `0 ${height * 0.4}px`,
      background: '#1877f2', color: '#fff', borderRadius: value('layout') === 'rounded' ? `${height / 2}px` : '4px', cursor: 'pointer',
      font: `600 ${font}px/1 Helvetica, Arial, sans-serif`, whiteSpace: 'nowrap', userSelect: 'none',
    });
    const done = response => {
      label();
      const code = element.getAttribute('onlogin') || element.getAttribute('data-onlogin') || element.getAttribute('on-login');
      if (code) new Function('response', code).call(window, response);
    };
    const press = () => (isIn() ? logout(done) : login(done, {
      scope: value('scope') || value('perms') || undefined, auth_type: value('auth-type') || undefined, config_id: value('config-id') || undefined,
    }));
    button.addEventListener('click', press);
    button.addEventListener('keydown', event => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      press();
    });
    // A button that was drawn anew isn't in the page any more.
    const follow = () => (button.isConnected ? label() : Event.unsubscribe('auth.statusChange', follow));
    Event.subscribe('auth.statusChange', follow);
    element.replaceChildren(button);
  };

  const XFBML = {
    parse(root, callback) {
      for (const element of (root || document).querySelectorAll('.fb-login-button, fb\\:login-button')) draw(element);
      call(callback);
      fire('xfbml.render');
    },
  };

  // MARK: - FB

  const init = (values = {}) => {
    const appId = values.appId === undefined ? values.apiKey : values.appId;
    if (typeof appId !== 'string' && typeof appId !== 'number' || String(appId) === '') {
      console.error('init not called with valid version, or without an appId');
      return;
    }
    if (!isVersion(values.version)) {
      // https://developers.facebook.com/docs/javascript/reference/FB.init: "version" is required.
      throw new Error('init not called with valid version');
    }
    app = {...values, appId: String(appId)};
    isLooked = false;
    if (values.xfbml) {
      const parse = () => XFBML.parse();
      if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', parse);
      else parse();
    }
    if (values.status) getLoginStatus();
  };

  const missing = name => (...values) => {
    console.warn(`${understudy} has no ${name}: it has what signing in needs.`);
    const callback = values.find(value => typeof value === 'function');
    if (callback) setTimeout(() => callback(undefined));
  };
  const nothing = () => {};

  const FB = {
    init, login, logout, getLoginStatus, api, Event, XFBML,
    getAuthResponse: () => current.authResponse,
    getAccessToken: () => (current.authResponse ? current.authResponse.accessToken : null),
    getUserID: () => (current.authResponse ? current.authResponse.userID : ''),
    ui: missing('FB.ui'),
    AppEvents: {
      EventNames: {}, ParameterNames: {}, activateApp: nothing, logEvent: nothing, logPageView: nothing, logPurchase: nothing,
      setAppVersion: nothing, setUserID: nothing, getUserID: () => '', clearUserID: nothing, updateUserProperties: nothing,
    },
  };
  window.FB = FB;

  // `sdk.js#xfbml=1&version=v22.0&appId=…` begins by itself.
  const source = document.currentScript && document.currentScript.src;
  const options = source ? new URLSearchParams(new URL(source).hash.slice(1)) : new URLSearchParams();
  const isSet = name => ['1', 'true'].includes(options.get(name));
  if (options.get('appId')) {
    init({appId: options.get('appId'), version: options.get('version') || undefined, xfbml: isSet('xfbml'), cookie: isSet('cookie'), status: isSet('status')});
  }
  setTimeout(() => call(window.fbAsyncInit));
})
