// Stands in for Google's API loader, https://apis.google.com/js/api.js, as far as Firebase's web SDK needs it: `gapi.load`
// and `gapi.iframes`, by which a page opens a frame and the two exchange messages. What is here follows from the calls in
// firebase-js-sdk, packages/auth/src/platform_browser/iframe; Google documents nothing of it.
//
// It runs in the app's page and in our frame. The page hands the frame one end of a MessageChannel, addressed to the frame's
// origin; everything else goes over that, so that no other window can read it or join in. What is sent is
// {ask: type, id, data}, and what comes back {id, answers}: an answer of each handler, in order.
(() => {
  'use strict';

  const greeting = 'understudy: gapi.iframes';
  const pinging = '_ping';
  // Nobody else speaks so much before the other side listens.
  const longestQueue = 100;

  // A callback's failure is its author's: the SDK's own callback for `webStorageSupport` throws every time, after its work.
  const call = (callback, ...values) => {
    try {
      if (callback) callback(...values);
    } catch {}
  };

  const push = (queue, entry) => {
    if (queue.length < longestQueue) queue.push(entry);
  };

  /** The other side: of a page, a frame that it has opened; of a frame, the page around it. */
  class Iframe {
    #element;
    #port = null;
    #unsent = [];
    #handlers = new Map();
    #unheard = new Map();
    #callbacks = new Map();
    #last = 0;
    #origin = null;
    #tellOrigin;
    /** The other side's origin, once it can be reached. */
    whenConnected = new Promise(tell => (this.#tellOrigin = tell));

    constructor(element) {
      this.#element = element;
      this.#handlers.set(pinging, [() => true]);
    }

    connect(port, origin) {
      this.#port = port;
      this.#origin = origin;
      port.onmessage = ({data}) => ('ask' in data ? this.#hear(data) : this.#settle(data));
      for (const message of this.#unsent.splice(0)) port.postMessage(message);
      this.#tellOrigin(origin);
    }

    getIframeEl() {
      return this.#element;
    }

    getOrigin() {
      return this.#origin;
    }

    // Filters choose among frames. There is one at the other end of a channel, so every filter that lets it in is met.
    register(type, handler) {
      this.#handlers.set(type, [...(this.#handlers.get(type) || []), handler]);
      const unheard = this.#unheard.get(type) || [];
      this.#unheard.delete(type);
      for (const message of unheard) this.#hear(message);
    }

    unregister(type, handler) {
      const left = (this.#handlers.get(type) || []).filter(other => handler && other !== handler);
      if (left.length) this.#handlers.set(type, left);
      else this.#handlers.delete(type);
    }

    send(type, data, callback) {
      const id = ++this.#last;
      const message = {ask: type, id, data};
      const answers = new Promise(resolve => this.#callbacks.set(id, resolve));
      answers.then(values => call(callback, values));
      if (this.#port) this.#port.postMessage(message);
      else push(this.#unsent, message);
      return answers;
    }

    ping(callback, data) {
      return this.send(pinging, data, callback);
    }

    // The styles that the SDK sets (`setHideOnLeave`) are for frames that hover.
    restyle(style, callback) {
      return Promise.resolve([]).then(values => (call(callback, values), values));
    }

    close() {
      if (this.#element) this.#element.remove();
    }

    async #hear({ask, id, data}) {
      const handlers = this.#handlers.get(ask);
      if (!handlers) {
        // The SDK registers for events after the frame has sent its first.
        if (!this.#unheard.has(ask)) this.#unheard.set(ask, []);
        return push(this.#unheard.get(ask), {ask, id, data});
      }
      const answers = await Promise.all(
        handlers.map(async handler => handler(data, this)).map(answer => answer.catch(error => {
          console.error(error);
          return undefined;
        })));
      this.#port.postMessage({id, answers: JSON.parse(JSON.stringify(answers))});
    }

    #settle({id, answers}) {
      const resolve = this.#callbacks.get(id);
      this.#callbacks.delete(id);
      if (resolve) resolve(answers);
    }
  }

  let parentIframe = null;

  class Context {
    /** `callback` gets the frame; the promise becomes what it returns. */
    open(options, callback) {
      const element = document.createElement('iframe');
      const {style, ...attributes} = options.attributes || {};
      Object.assign(element.style, style);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      const url = new URL(options.url, location.href);
      // After a redirect from another site, the frame can't find what the handler stored: browsers keep its storage apart. The
      // handler has said in its own address, from which the browser came, where else it lies.
      const from = document.referrer ? new URL(document.referrer) : null;
      const name = from && from.origin === url.origin && from.searchParams.get('understudy_answer');
      if (name) url.searchParams.set('understudy_answer', name);
      const iframe = new Iframe(element);
      element.addEventListener('load', () => {
        const {port1, port2} = new MessageChannel();
        element.contentWindow.postMessage(greeting, url.origin, [port2]);
        iframe.connect(port1, url.origin);
      });
      element.src = url.href;
      const place = options.where || document.body || document.documentElement;
      if (!options.dontclear) place.textContent = '';
      place.appendChild(element);
      return Promise.resolve(iframe).then(callback).then(value => (value === undefined ? iframe : value));
    }

    /** The page around this one; `null` where there is none. */
    getParentIframe() {
      if (parentIframe || window.parent === window) return parentIframe;
      parentIframe = new Iframe(null);
      window.addEventListener('message', event => {
        if (event.source === window.parent && event.data === greeting && event.ports[0]) {
          parentIframe.connect(event.ports[0], event.origin);
        }
      });
      return parentIframe;
    }
  }

  const gapi = (window.gapi = window.gapi || {});
  if (!gapi.iframes) {
    const context = new Context();
    gapi.iframes = {
      Iframe,
      Context,
      CROSS_ORIGIN_IFRAMES_FILTER: () => true,
      SAME_ORIGIN_IFRAMES_FILTER: iframe => iframe.getOrigin() === location.origin,
      getContext: () => context,
    };
  }
  gapi.load = gapi.load || ((features, options) => {
    const {callback, onerror} = typeof options === 'function' ? {callback: options} : options || {};
    const missing = features.split(':').filter(name => !['gapi.iframes', 'iframes'].includes(name));
    if (missing.length) console.error(`Understudy's stand-in for gapi has gapi.iframes, and not ${missing.join(', ')}.`);
    const next = missing.length ? onerror : callback;
    if (next) setTimeout(next);
  });

  // The names of functions to be called when this script has run: `?onload=NAME`, and `gapi_onload`.
  const source = document.currentScript && document.currentScript.src;
  const name = source && new URL(source).searchParams.get('onload');
  for (const loaded of [name && window[name], window.gapi_onload]) if (typeof loaded === 'function') loaded();
})();
