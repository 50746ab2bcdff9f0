// Actions at a provider without a browser: native sign-ins, and actions of people in their settings there.

class Provider {
  #control
  #name

  constructor(control, name) {
    this.#control = control
    this.#name = name
  }

  post(path, body) { return this.#control.call('POST', `${this.#name}/${path}`, { body }) }
  get(path, query) { return this.#control.call('GET', `${this.#name}/${path}`, { query }) }
  async delete(path) { await this.#control.call('DELETE', `${this.#name}/${path}`) }

  /// Removes the app in the person's settings.
  revoke(order) { return this.post('revocations', order) }
}

export class Apple extends Provider {
  constructor(control) { super(control, 'apple') }

  authorize(request) { return this.post('authorizations', request) }
  async credentialState({ client, user }) { return (await this.get('credential-state', { client, user })).state }
  notify(event) { return this.post('notifications', event) }
  rotateKeys() { return this.post('keys/rotate') }
  relay({ from, to }) { return this.get('relay', { from, to }) }
}

export class Google extends Provider {
  constructor(control) { super(control, 'google') }
  authorize(request) { return this.post('authorizations', request) }
  sendSecurityEvent(event) { return this.post('security-events', event) }
}

export class Facebook extends Provider {
  constructor(control) { super(control, 'facebook') }
  authorize(request) { return this.post('authorizations', request) }
}

export class Microsoft extends Provider {
  constructor(control) { super(control, 'microsoft') }
}

export class GitHub extends Provider {
  constructor(control) { super(control, 'github') }
  logOut(order) { return this.post('logouts', order) }
}

export class OpenID extends Provider {
  constructor(control) { super(control, 'openid') }
  logOut(order) { return this.post('logouts', order) }
  async clients() { return (await this.get('clients', { limit: 1000 })).clients }
  removeClients(client) { return this.delete(client === undefined ? 'clients' : `clients/${encodeURIComponent(client)}`) }
}
