// Stands in for Google's reCAPTCHA, https://www.google.com/recaptcha/enterprise.js and api.js, as Firebase's web SDKs and
// https://cloud.google.com/recaptcha/docs/instrument-web-pages call it. Nobody has to solve anything: the daemon gives out tokens, and
// says of each whether it passes.
//
// The daemon appends the call: `google` is where www.google.com is found in the way in which the script was asked for.
((google, isEnterprise, onload) => {
  'use strict';

  const widgets = [];
  const call = (callback, ...values) => {
    const found = typeof callback === 'string' ? window[callback] : callback;
    if (typeof found === 'function') found(...values);
  };

  const ask = async (siteKey, action) => {
    const answer = await fetch(`${google}/recaptcha/enterprise/reload`, {
      method: 'POST',
      body: new URLSearchParams({k: siteKey ?? '', action: action ?? ''}),
    });
    if (!answer.ok) throw new Error(`Invalid site key or not loaded in api.js: ${siteKey}`);
    return (await answer.json()).token;
  };

  const ready = callback => void Promise.resolve().then(() => call(callback));

  /** Gets a token for a site key, or for a widget by its number: the first one, if neither is given. */
  const execute = async (place = 0, {action} = {}) => {
    const widget = widgets[place];
    try {
      const token = await ask(widget ? widget.options.sitekey : place, action);
      if (widget) widget.response = token;
      call(widget?.options.callback, token);
      return token;
    } catch (error) {
      call(widget?.options['error-callback'], error);
      throw error;
    }
  };

  const render = (container, options = {}) => {
    const element = typeof container === 'string' ? document.getElementById(container) : container;
    const number = widgets.push({options: {...element?.dataset, ...options}, response: ''}) - 1;
    if (!element || options.size === 'invisible') return number;
    const label = document.createElement('label');
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.addEventListener('change', () => execute(number).catch(() => (box.checked = false)));
    label.append(box, " I'm not a robot");
    element.append(label);
    return number;
  };

  const getResponse = (number = 0) => widgets[number]?.response ?? '';
  const reset = (number = 0) => {
    if (widgets[number]) widgets[number].response = '';
  };

  const api = {ready, execute, render, getResponse, reset};
  window.grecaptcha ??= {};
  if (isEnterprise) window.grecaptcha.enterprise = api;
  else Object.assign(window.grecaptcha, api);
  ready(onload);
})
