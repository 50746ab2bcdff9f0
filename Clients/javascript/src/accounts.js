import { pages } from './control.js'

export class Accounts {
  #control
  constructor(control) { this.#control = control }

  list({ limit, after } = {}) { return pages(this.#control, 'accounts', 'accounts', { limit, after }) }
  get(id) { return this.#control.call('GET', Accounts.#path(id)) }
  add(account) { return this.#control.call('POST', 'accounts', { body: account }) }
  change(id, patch) { return this.#control.call('PATCH', Accounts.#path(id), { body: patch }) }
  async remove(id) { await this.#control.call('DELETE', Accounts.#path(id)) }

  static #path(id) { return `accounts/${encodeURIComponent(id)}` }
}
